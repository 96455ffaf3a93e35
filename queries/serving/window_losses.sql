-- What one scope lost over the days that a reader chooses, by where in an attempt's life, and as
-- shares of what is instrumented.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day
with

summed as (

    select
        sum(instrumented_seconds) as instrumented_seconds,
        sum(lost_seconds) as lost_seconds,
        sum(start_up_seconds) as start_up_seconds,
        sum(recovery_seconds) as recovery_seconds,
        sum(wasted_seconds) as wasted_seconds,
        sum(shutdown_seconds) as shutdown_seconds,
        sum(unaccounted_seconds) as unaccounted_seconds,
        sum(instrumented_gpu_seconds) as instrumented_gpu_seconds,
        sum(lost_gpu_seconds) as lost_gpu_seconds,
        sum(start_up_gpu_seconds) as start_up_gpu_seconds,
        sum(recovery_gpu_seconds) as recovery_gpu_seconds,
        sum(wasted_gpu_seconds) as wasted_gpu_seconds,
        sum(shutdown_gpu_seconds) as shutdown_gpu_seconds,
        sum(unaccounted_gpu_seconds) as unaccounted_gpu_seconds
    from losses_by_team_day
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day

)

select
    -- seconds
    instrumented_seconds,
    lost_seconds,
    start_up_seconds,
    recovery_seconds,
    wasted_seconds,
    shutdown_seconds,
    unaccounted_seconds,
    -- GPU-seconds
    instrumented_gpu_seconds,
    lost_gpu_seconds,
    start_up_gpu_seconds,
    recovery_gpu_seconds,
    wasted_gpu_seconds,
    shutdown_gpu_seconds,
    unaccounted_gpu_seconds,
    -- ratios: of sums, computed once
    start_up_seconds / nullif(instrumented_seconds, 0) as start_up_ratio,
    recovery_seconds / nullif(instrumented_seconds, 0) as recovery_ratio,
    wasted_seconds / nullif(instrumented_seconds, 0) as wasted_ratio,
    shutdown_seconds / nullif(instrumented_seconds, 0) as shutdown_ratio,
    unaccounted_seconds / nullif(instrumented_seconds, 0) as unaccounted_ratio,
    start_up_gpu_seconds / nullif(instrumented_gpu_seconds, 0) as start_up_gpu_ratio,
    recovery_gpu_seconds / nullif(instrumented_gpu_seconds, 0) as recovery_gpu_ratio,
    wasted_gpu_seconds / nullif(instrumented_gpu_seconds, 0) as wasted_gpu_ratio,
    shutdown_gpu_seconds / nullif(instrumented_gpu_seconds, 0) as shutdown_gpu_ratio,
    unaccounted_gpu_seconds / nullif(instrumented_gpu_seconds, 0) as unaccounted_gpu_ratio
from summed
