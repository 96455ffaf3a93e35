-- How long good saves of one scope blocked training over the days that a reader chooses.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day
with

ranked as (

    -- quantile_disc is the nearest rank
    select quantile_disc(save_us, [0.5, 0.9, 0.99]) as percentiles_us
    from save_times
    where
        (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and day between first_day and last_day

),

counted as (

    -- null: nothing of these days is instrumented
    select case when count(*) = 0 then 0 else sum(checkpoint_saves) end as checkpoint_saves
    from team_day_totals
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day

)

select
    cast(counted.checkpoint_saves as bigint) as checkpoint_saves,
    ranked.percentiles_us[1] / 1e6 as checkpoint_save_p50_seconds,
    ranked.percentiles_us[2] / 1e6 as checkpoint_save_p90_seconds,
    ranked.percentiles_us[3] / 1e6 as checkpoint_save_p99_seconds
from ranked
cross join counted
