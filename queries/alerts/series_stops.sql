-- How long each attempt that trained took to stop.
-- grain: one row per job_no, attempt
select
    facts.job_no,
    facts.attempt,
    facts.team,
    'shutdown_seconds' as metric,
    facts.ended_day as day,
    facts.workload,
    facts.gpus,
    cast(facts.outcome as varchar) as trial,
    coalesce(facts.model, '') as model,
    facts.shutdown_us as us
from attempt_facts_kept as facts
inner join touched_days as touched on facts.ended_day = touched.day
where
    facts.is_counted
    and facts.is_instrumented
    and facts.first_batch_day is not null
    and facts.outcome <> 'running'
    and facts.shutdown_us > 0
