-- What stopped the attempts of one scope over the days that a reader chooses.
-- grain: one row per failure_domain, failure_category
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    failure_domain,
    failure_category,
    any_value(attribution) as attribution,
    cast(sum(interruptions) as bigint) as interruptions,
    sum(lost_gpu_seconds) as lost_gpu_seconds
from failures_by_team_day
where
    team = chosen_team
    and workload = chosen_workload
    and day between first_day and last_day
group by failure_domain, failure_category
