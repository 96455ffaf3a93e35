-- What attempts say of their phases and stages: starts, ends, and complete spans, which say both.
-- grain: many rows per attempt_no, phase, stage, rank
select
    windows.attempt_no,
    events.phase,
    events.stage,
    -- who reports: of joined jobs the source as well (stg_events)
    events.reporter as rank,
    events.at_us,
    events.end_us,
    events.step,
    coalesce(events.mode = 'async', false) as is_async,
    coalesce(not events.ok, false) as is_failed,
    events.event = 'phase_end' as is_end,
    events.file_no
from stg_events as events
inner join attempt_windows as windows
    on
        events.job_no = windows.job_no
        and events.attempt = windows.attempt
where
    (events.event = 'phase_start' or events.event = 'phase_end')
    -- a span of negative length is ignored
    and (events.end_us is null or events.end_us >= events.at_us or events.event = 'phase_end')
