-- Where the seconds of one scope went over the days that a reader chooses.
-- grain: one row per area, is_recovery
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    area,
    is_recovery,
    sum(seconds) as seconds,
    sum(gpu_seconds) as gpu_seconds
from area_by_team_day
where
    team = chosen_team
    and workload = chosen_workload
    and day between first_day and last_day
group by area, is_recovery
