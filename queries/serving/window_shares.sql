-- Where the time of one scope went over the days that a reader chooses, as shares of what is
-- instrumented; uninstrumented time has no share, since ETT does not speak of it.
-- grain: one row per area, is_recovery
-- macro: chosen_team, chosen_workload, first_day, last_day
with

weighed as (

    select
        area,
        is_recovery,
        seconds,
        gpu_seconds,
        case when area <> 'uninstrumented' then seconds end as instrumented_seconds,
        case when area <> 'uninstrumented' then gpu_seconds end as instrumented_gpu_seconds
    from window_areas(chosen_team, chosen_workload, first_day, last_day)

)

select
    area,
    is_recovery,
    seconds,
    gpu_seconds,
    instrumented_seconds / nullif(sum(instrumented_seconds) over (), 0) as share_ratio,
    instrumented_gpu_seconds / nullif(sum(instrumented_gpu_seconds) over (), 0) as share_gpu_ratio
from weighed
