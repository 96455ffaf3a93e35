-- Events that do not count as they stand: told anew under their event_id, or placed by time.
-- grain: one row per row_no
select row_no
from stg_superseded

union

select row_no
from stg_placements
