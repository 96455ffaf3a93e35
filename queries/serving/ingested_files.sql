-- The ledger: every dump that was loaded.
-- grain: one row per file_no
select
    file_no,
    file,
    format,
    cluster,
    bytes,
    sha256,
    events,
    rejected,
    told,
    ingested_at
from warehouse.files
order by ingested_at asc, file asc, file_no asc
