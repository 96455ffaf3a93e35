-- What each domain of causes took from each team over the days that a reader chooses.
-- `chosen_attribution` is an attribution, or `all`.
-- grain: one row per team, failure_domain
-- macro: chosen_workload, first_day, last_day, chosen_attribution
with

stopped as (

    select
        team,
        failure_domain,
        cast(sum(interruptions) as bigint) as interruptions,
        sum(lost_gpu_seconds) as lost_gpu_seconds
    from failures_by_team_day
    where
        team <> 'fleet'
        and workload = chosen_workload
        and day between first_day and last_day
        and (chosen_attribution = 'all' or attribution = chosen_attribution)
    group by team, failure_domain

)

select
    stopped.team,
    stopped.failure_domain,
    stopped.interruptions,
    stopped.lost_gpu_seconds,
    -- of all its domains, and of all teams
    sum(stopped.lost_gpu_seconds) over (partition by stopped.team) as team_lost_gpu_seconds,
    sum(stopped.lost_gpu_seconds) over (partition by stopped.failure_domain)
        as domain_lost_gpu_seconds,
    stopped.lost_gpu_seconds / nullif(held.gpu_seconds, 0) as lost_gpu_ratio
from stopped
inner join window_teams(chosen_workload, first_day, last_day) as held on stopped.team = held.team
