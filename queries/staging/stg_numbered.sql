-- Job and attempt of the events that do not say theirs: rows of a scheduler, and what was placed.
-- grain: one row per row_no
select
    row_no,
    job_no,
    attempt,
    launch,
    teller,
    cast(null as varchar) as row_state,
    false as is_scheduler
from stg_placements

union all

select
    told.row_no,
    coalesce(placed.job_no, told.job_no) as job_no,
    coalesce(placed.attempt, told.attempt) as attempt,
    cast(null as varchar) as launch,
    cast(null as bigint) as teller,
    told.row_state,
    true as is_scheduler
from stg_scheduler_events as told
left join stg_scheduler_places as placed on told.row_no = placed.row_no
