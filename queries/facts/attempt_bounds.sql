-- First and last word of each attempt; queueing alone does not make one.
-- grain: one row per job_no, attempt
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
    sum(case when event = 'progress' and step is not null then 1 else 0 end) as step_reports,
    cast(row_number() over (order by job_no asc, attempt asc) as bigint) as attempt_no
from stg_events
where
    event not in ('job', 'change')
    and (phase is null or phase <> 'queue')
group by job_no, attempt
