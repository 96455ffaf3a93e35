-- Every job over all its attempts.
-- grain: one row per job_id
-- changes by: job_id
select
    job_id,
    -- who
    arg_max(team, attempt) as team,
    arg_max(workload, attempt) as workload,
    arg_max(user_name, attempt) as user_name,
    arg_max(model, attempt) as model,
    arg_max(job_name, attempt) as job_name,
    arg_max(gpus, attempt) as gpus,
    -- flags
    bool_and(is_instrumented) as is_instrumented,
    bool_or(is_excluded) as is_excluded,
    -- times
    min(started_at) as first_started_at,
    max(ended_at) as last_ended_at,
    arg_max(outcome, attempt) as last_outcome,
    -- counts
    count(*) as attempts,
    count(*) filter (where is_interruption) as interruptions,
    -- seconds; whole microseconds, so that no order of the attempts can change a bit
    round(sum(wall_seconds), 6) as wall_seconds,
    round(sum(queue_seconds), 6) as queue_seconds,
    round(sum(effective_seconds), 6) as effective_seconds,
    round(sum(unsaved_seconds), 6) as unsaved_seconds,
    max(tts_seconds) as tts_seconds,
    max(ttr_seconds) as max_ttr_seconds,
    round(sum(wall_seconds * gpus), 6) as gpu_seconds,
    round(sum((wall_seconds - effective_seconds) * gpus), 6) as lost_gpu_seconds,
    -- ratios
    round(sum(effective_seconds), 6)
    / nullif(round(sum(wall_seconds) - sum(uninstrumented_seconds), 6), 0) as ett_ratio,
    round(sum(effective_seconds * gpus), 6)
    / nullif(round(sum((wall_seconds - uninstrumented_seconds) * gpus), 6), 0) as ett_gpu_ratio
from attempts
where job_id in (select names.job_id from publishing_names as names)
group by job_id
order by job_id asc
