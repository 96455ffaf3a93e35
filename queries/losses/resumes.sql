-- The checkpoint step that an attempt says it restored: its last word before its first batch.
-- grain: one row per job_no, attempt
with

told as (

    select
        windows.job_no,
        windows.attempt,
        events.resumed_from_step,
        row_number() over (
            partition by windows.attempt_no
            order by events.at_us desc, events.resumed_from_step desc
        ) as precedence
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    left join first_batches on windows.attempt_no = first_batches.attempt_no
    where
        events.resumed_from_step is not null
        and events.event not in ('job', 'change')
        and (
            first_batches.first_batch_us is null
            or events.at_us <= first_batches.first_batch_us
        )

)

select
    job_no,
    attempt,
    resumed_from_step
from told
where precedence = 1
