-- Which share of its instrumented time one scope spent in one area, for each of the days that a
-- reader chooses on which it had any.
-- grain: one row per day
-- macro: chosen_team, chosen_workload, chosen_area, first_day, last_day
with

charged as (

    select
        day,
        sum(seconds) as seconds,
        sum(gpu_seconds) as gpu_seconds
    from area_by_team_day
    where
        team = chosen_team
        and workload = chosen_workload
        and area = chosen_area
        and day between first_day and last_day
    group by day

)

select
    losses.day,
    coalesce(charged.seconds, 0) as seconds,  -- zero: instrumented, and none of it was in this area
    case when losses.instrumented_gpu_seconds > 0 then coalesce(charged.gpu_seconds, 0) end
        as gpu_seconds,
    coalesce(charged.seconds, 0) / losses.instrumented_seconds as share_ratio,
    coalesce(charged.gpu_seconds, 0) / nullif(losses.instrumented_gpu_seconds, 0) as share_gpu_ratio
from losses_by_team_day as losses
left join charged on losses.day = charged.day
where
    losses.team = chosen_team
    and losses.workload = chosen_workload
    and losses.instrumented_seconds > 0
    and losses.day between first_day and last_day
