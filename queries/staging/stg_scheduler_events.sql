-- The newest telling of each thing that a scheduler row says.
-- grain: one row per row_no
-- empty without: scoped_events.row_key
select
    tellings.row_no,
    tellings.source_no,
    scheduler_rows.base_job_no,
    scheduler_rows.job_no,
    scheduler_rows.attempt,
    tellings.row_key,
    scheduler_rows.row_state,
    tellings.event,
    tellings.phase,
    tellings.at_us
from stg_row_tellings as tellings
inner join stg_scheduler_rows as scheduler_rows
    on
        tellings.job_no = scheduler_rows.base_job_no
        and tellings.row_key = scheduler_rows.row_key
where tellings.precedence = 1
