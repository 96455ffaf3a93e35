-- The hardware that a scheduler gave to a job that trainers may speak of: its rows that started,
-- resized ones as one. `job_no` is the chain, and `try`
-- counts as the scheduler does.
-- grain: one row per job_no, try
-- empty without: woven_jobs
with

told as (

    select
        events.base_job_no,
        events.job_no,
        events.attempt as try,
        min(case when events.event = 'attempt_start' then events.row_key end) as row_key,
        min(case when events.event = 'attempt_start' then events.source_no end) as source_no,
        min(case when events.event = 'attempt_start' then events.at_us end) as begin_us,
        max(
            case
                when events.event = 'attempt_end' and events.row_state <> 'RESIZING'
                    then events.at_us
            end
        ) as end_us,
        max(events.at_us) as seen_us
    from stg_scheduler_events as events
    inner join woven_jobs as woven on events.base_job_no = woven.job_no
    where events.event in ('attempt_start', 'attempt_end', 'alive')
    group by events.base_job_no, events.job_no, events.attempt
    having min(case when events.event = 'attempt_start' then events.at_us end) is not null

),

followed as (

    select
        *,
        lead(begin_us) over in_chain as next_begin_us,
        lead(begin_us) over (partition by job_no order by begin_us asc, try asc) as later_us,
        max(begin_us) over in_chain as hold_us
    from told
    window in_chain as (
        partition by job_no
        order by try asc
        rows unbounded preceding
    )

)

select
    followed.job_no,
    followed.try,
    job_keys.job_key as scheduler_key,
    concat(job_keys.job_key, '/', followed.row_key) as allocation_id,
    followed.source_no,
    followed.begin_us,
    case
        when followed.end_us is not null then greatest(followed.end_us, followed.begin_us)
    end as end_us,
    -- seen to be held; null end_us: it may be held longer than any dump says
    greatest(least(followed.seen_us, followed.later_us), followed.begin_us) as seen_us,
    greatest(
        coalesce(followed.end_us, followed.next_begin_us, 9223372036854775807), followed.begin_us
    ) as until_us,
    followed.hold_us
from followed
inner join job_keys on followed.base_job_no = job_keys.job_no
