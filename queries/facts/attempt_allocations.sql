-- The hardware an attempt says it holds.
-- grain: one row per job_no, attempt
with

ranked as (

    select
        job_no,
        attempt,
        allocation_id,
        row_number() over (
            partition by job_no, attempt
            order by at_us desc, allocation_id desc
        ) as precedence
    from stg_events
    where
        allocation_id is not null
        and event not in ('job', 'change')

)

select
    job_no,
    attempt,
    allocation_id
from ranked
where precedence = 1
