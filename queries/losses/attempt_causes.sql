-- Why each interruption happened, as far as a source gives a category; classification comes later.
-- grain: one row per job_no, attempt
with

named as (

    select
        job_no,
        attempt,
        category,
        row_number() over (
            partition by job_no, attempt
            order by at_us asc, category desc  -- the earliest initiating failure is the cause
        ) as precedence
    from stg_events
    where
        event = 'failure'
        and category is not null

)

select
    windows.job_no,
    windows.attempt,
    coalesce(
        named.category,
        ends.category,
        case windows.outcome
            when 'preempted' then 'scheduler/preempted'
            when 'timeout' then 'scheduler/time_limit'
            when 'lost' then 'unknown/no_end_recorded'
        end,
        'unknown/unclassified'
    ) as category
from attempt_windows as windows
left join named
    on
        windows.job_no = named.job_no
        and windows.attempt = named.attempt
        and named.precedence = 1
left join attempt_ends as ends
    on
        windows.job_no = ends.job_no
        and windows.attempt = ends.attempt
where windows.outcome in ('failed', 'preempted', 'timeout', 'lost')
