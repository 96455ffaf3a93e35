-- How long each attempt that trained took to stop.
-- grain: one row per job_no, attempt
select
    job_no,
    attempt,
    team,
    'shutdown_seconds' as metric,
    ended_day as day,
    workload,
    gpus,
    cast(outcome as varchar) as trial,
    coalesce(model, '') as model,
    shutdown_us as us
from attempt_facts_kept
where
    is_counted
    and is_instrumented
    and first_batch_day is not null
    and outcome <> 'running'
    and shutdown_us > 0
