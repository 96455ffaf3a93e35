-- The ends of attempts, each with what its interruption cost.
-- grain: one row per job_no, attempt
select
    job_no,
    attempt,
    team,
    ended_day as day,
    workload,
    gpus,
    outcome,
    category,
    split_part(category, '/', 1) as failure_domain,
    lost_gpu_us + caused_recovery_gpu_us as lost_gpu_us
from attempt_facts_kept
where
    is_counted
    and outcome <> 'running'
