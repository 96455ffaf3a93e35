-- The ends of attempts, each with what its interruption cost.
-- grain: one row per job_no, attempt
select
    facts.job_no,
    facts.attempt,
    facts.team,
    facts.ended_day as day,
    facts.workload,
    facts.gpus,
    facts.outcome,
    facts.category,
    split_part(facts.category, '/', 1) as failure_domain,
    -- null: no source says what it did
    case when facts.is_instrumented then facts.lost_us + facts.caused_recovery_us end as lost_us,
    facts.lost_gpu_us + facts.caused_recovery_gpu_us as lost_gpu_us
from attempt_facts_kept as facts
inner join touched_days as touched on facts.ended_day = touched.day
where
    facts.is_counted
    and facts.outcome <> 'running'
