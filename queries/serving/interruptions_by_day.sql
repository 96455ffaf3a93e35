-- What stopped attempts in one scope, by day and domain, for stacked columns.
-- `chosen_attribution` is an attribution, or `all`.
-- grain: one row per day, attribution, failure_domain
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_attribution
select
    day,
    attribution,
    failure_domain,
    cast(sum(interruptions) as bigint) as interruptions,
    sum(lost_gpu_seconds) as lost_gpu_seconds
from failures_by_team_day
where
    team = chosen_team
    and workload = chosen_workload
    and day between first_day and last_day
    and (chosen_attribution = 'all' or attribution = chosen_attribution)
group by day, attribution, failure_domain
