-- Lines set aside, by source and reason.
-- grain: one row per source, reason
select
    sources.source,
    rejected.reason,
    count(*) as lines
from warehouse.rejected_lines as rejected
inner join warehouse.files as files on rejected.file_no = files.file_no
inner join warehouse.sources as sources on files.source_no = sources.source_no
group by sources.source, rejected.reason
order by sources.source asc, rejected.reason asc
