-- What adds up, and its ratios, for each team (`fleet`: all of them) over the days that a reader
-- chooses: from the sums of the days alone, so that many teams cost little.
-- grain: one row per team
-- macro: chosen_workload, first_day, last_day
with

summed as (

    select
        team,
        sum(attempts_ended) as attempts_ended,
        sum(wall_us) as wall_us,
        sum(wall_us - uninstrumented_us) as instrumented_us,
        sum(effective_us) as effective_us,
        sum(gpu_us) as gpu_us,
        sum(gpu_us - uninstrumented_gpu_us) as instrumented_gpu_us,
        sum(effective_gpu_us) as effective_gpu_us,
        sum(shutdown_gpu_us) as shutdown_gpu_us
    from team_day_totals
    where
        workload = chosen_workload
        and day between first_day and last_day
    group by team

)

select
    team,
    cast(attempts_ended as bigint) as attempts_ended,
    -- seconds
    wall_us / 1e6 as wall_seconds,
    instrumented_us / 1e6 as instrumented_seconds,
    case when instrumented_us > 0 then instrumented_us - effective_us end / 1e6 as lost_seconds,
    gpu_us / 1e6 as gpu_seconds,
    instrumented_gpu_us / 1e6 as instrumented_gpu_seconds,
    case when instrumented_gpu_us > 0 then instrumented_gpu_us - effective_gpu_us end / 1e6
        as lost_gpu_seconds,
    case when instrumented_gpu_us > 0 then shutdown_gpu_us end / 1e6 as shutdown_gpu_seconds,
    -- ratios: of sums, computed once
    effective_us / nullif(instrumented_us, 0) as ett_ratio,
    effective_gpu_us / nullif(instrumented_gpu_us, 0) as ett_gpu_ratio
from summed
