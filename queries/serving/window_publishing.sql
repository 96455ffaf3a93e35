-- Which share of each team's shutdown is the stage `model_publish`, of the attempts that ended on
-- the days that a reader chooses (`fleet`: all teams). Of an attempt it is never more than what was
-- charged to shutdown: a save that runs meanwhile takes the charge, not the stage. Teams that
-- report no such stage have no row.
-- grain: one row per team
-- macro: chosen_workload, first_day, last_day
with

published as (

    select
        job_id,
        attempt,
        seconds
    from stage_by_attempt
    where
        phase = 'shutdown'
        and stage = 'model_publish'

),

summed as (

    select
        coalesce(attempts.team, 'fleet') as team,
        -- null: of unknown GPUs
        sum(attempts.shutdown_seconds * attempts.gpus) as shutdown_gpu_seconds,
        sum(
            case
                when published.seconds < attempts.shutdown_seconds then published.seconds
                when published.seconds is not null then attempts.shutdown_seconds
            end * attempts.gpus
        ) as publishing_gpu_seconds
    from attempts
    left join published
        on
            attempts.job_id = published.job_id
            and attempts.attempt = published.attempt
    where
        attempts.is_counted
        and attempts.is_instrumented
        and (chosen_workload = 'all' or attempts.workload = chosen_workload)
        and attempts.ended_day between first_day and last_day
    group by grouping sets ((attempts.team), ())
    having count(published.seconds) > 0

)

select
    team,
    shutdown_gpu_seconds,
    publishing_gpu_seconds,
    publishing_gpu_seconds / nullif(shutdown_gpu_seconds, 0) as publishing_ratio
from summed
