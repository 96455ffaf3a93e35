-- How long the stages of phases took in one scope over the days that a reader chooses, on average
-- over the attempts that report them. Stages may overlap one another.
-- grain: one row per phase, stage
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    phase,
    stage,
    cast(sum(attempts) as bigint) as attempts,
    sum(us) / sum(attempts) / 1e6 as mean_seconds,
    sum(gpu_us) / 1e6 as gpu_seconds
from stages_by_team_day
where
    (chosen_team = 'fleet' or team = chosen_team)
    and (chosen_workload = 'all' or workload = chosen_workload)
    and day between first_day and last_day
group by phase, stage
