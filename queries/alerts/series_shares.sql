-- The wall seconds of each attempt on each day, and those of them that were lost, unsaved, stalled.
-- grain: one row per job_no, attempt, metric, day
with

spent as (

    select
        days.job_no,
        days.attempt,
        days.team,
        days.day,
        days.workload,
        days.gpus,
        days.wall_us - days.uninstrumented_us as whole_us,
        days.wall_us - days.uninstrumented_us - days.effective_us as ett_ratio,
        days.unsaved_us as unsaved_ratio,
        days.hang_us + days.data_wait_us as stalled_ratio
    from attempt_day_facts_kept as days
    inner join touched_days as touched on days.day = touched.day
    where
        days.is_counted
        and days.wall_us > days.uninstrumented_us

),

long as (

    unpivot (from spent)
    on columns(* exclude (job_no, attempt, team, day, workload, gpus, whole_us))
    into name metric value us

)

select
    job_no,
    attempt,
    team,
    metric,
    day,
    workload,
    gpus,
    whole_us,
    us
from long
