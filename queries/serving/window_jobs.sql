-- How many jobs and attempts of one scope were there in the days that a reader chooses, however
-- often. A job is there on the days that an attempt of it spent wall time on or ended on.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day
with

present as (

    select
        job_id,
        count(*) as attempts,
        count(*) filter (where gpus is null) as attempts_of_unknown_gpus,
        count(*) filter (where is_instrumented) as instrumented_attempts,
        count(gpus) filter (where is_instrumented) as instrumented_attempts_of_known_gpus,
        max(case when outcome = 'preempted' and ended_day <= last_day then 1 else 0 end)
            as is_preempted
    from attempts
    where
        is_counted
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and started_day <= last_day
        and ended_day >= first_day
        -- a suspended one is not there between its last wall time and its end
        and (ended_day <= last_day or wall_ended_day >= first_day)
    group by job_id

),

counted as (

    select
        count(*) as jobs,
        cast(coalesce(sum(attempts), 0) as bigint) as attempts,
        cast(coalesce(sum(attempts_of_unknown_gpus), 0) as bigint) as attempts_of_unknown_gpus,
        cast(coalesce(sum(instrumented_attempts), 0) as bigint) as instrumented_attempts,
        cast(coalesce(sum(instrumented_attempts_of_known_gpus), 0) as bigint)
            as instrumented_attempts_of_known_gpus,
        sum(is_preempted) as jobs_preempted
    from present

)

select
    jobs,
    attempts,
    -- in no sum of GPU-seconds
    attempts_of_unknown_gpus,
    -- what ETT and the losses are of, by wall time and by GPUs
    instrumented_attempts,
    instrumented_attempts_of_known_gpus,
    -- as a day says it
    jobs as jobs_running,
    attempts as attempts_running,
    jobs_preempted / nullif(jobs, 0) as preempted_job_ratio
from counted
