-- First and last word of each attempt; queueing alone does not make one.
-- grain: one row per job_no, attempt
with

told as (

    select
        job_no,
        attempt,
        min(case when event = 'phase_start' and phase = 'scheduling' then at_us end)
            as first_scheduling_us,
        min(case when event = 'attempt_start' then at_us end) as first_start_us,
        min(at_us) as first_event_us,
        max(greatest(at_us, coalesce(end_us, at_us))) as last_sign_us,
        max(suspended_us) as suspended_us,
        -- who spoke: where the two are the same, it was no one else
        min(source_no) as first_source_no,
        max(source_no) as last_source_no,
        sum(case when event = 'progress' and step is not null then 1 else 0 end) as step_reports
    from stg_events
    where
        event not in ('job', 'change')
        and (phase is null or phase <> 'queue')
    group by job_no, attempt

)

select
    told.job_no,
    told.attempt,
    told.first_scheduling_us,
    -- an allocation begins when its scheduler says
    coalesce(pieces.begin_us, told.first_start_us) as first_start_us,
    told.first_event_us,
    told.last_sign_us,
    told.suspended_us,
    told.first_source_no,
    told.last_source_no,
    told.step_reports,
    pieces.allocation_id,
    pieces.end_us as allocation_end_us,
    coalesce(pieces.is_continued, false) as is_continued,
    pieces.job_no is not null as is_joined,
    pieces.begin_us is not null as is_allocated,
    cast(row_number() over (order by told.job_no asc, told.attempt asc) as integer) as attempt_no
from told
left join stg_pieces as pieces
    on
        told.job_no = pieces.job_no
        and told.attempt = pieces.attempt
