-- The hardware an attempt says it holds.
-- The scheduler's word stands.
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
    bounds.job_no,
    bounds.attempt,
    coalesce(bounds.allocation_id, ranked.allocation_id) as allocation_id
from attempt_bounds as bounds
left join ranked
    on
        bounds.job_no = ranked.job_no
        and bounds.attempt = ranked.attempt
        and ranked.precedence = 1
where coalesce(bounds.allocation_id, ranked.allocation_id) is not null
