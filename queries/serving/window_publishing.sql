-- Which share of each team's shutdown is the stage `model_publish`, over the days that a reader
-- chooses.
-- grain: one row per team
-- macro: chosen_workload, first_day, last_day
with

published as (

    select
        team,
        sum(gpu_us) / 1e6 as publishing_gpu_seconds
    from stages_by_team_day
    where
        phase = 'shutdown'
        and stage = 'model_publish'
        and (chosen_workload = 'all' or workload = chosen_workload)
        and day between first_day and last_day
    group by grouping sets ((team), ())

)

select
    teams.team,
    teams.shutdown_gpu_seconds,
    published.publishing_gpu_seconds,
    published.publishing_gpu_seconds / nullif(teams.shutdown_gpu_seconds, 0) as publishing_ratio
from window_teams(chosen_workload, first_day, last_day) as teams
inner join published on teams.team = coalesce(published.team, 'fleet')
