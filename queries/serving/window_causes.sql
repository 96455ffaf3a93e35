-- What stopped attempts in one scope over the days that a reader chooses: every cause, beside the
-- sums of its domain. `chosen_attribution` is an attribution, or `all`.
-- grain: one row per failure_domain, failure_category
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_attribution
select
    failure_domain,
    failure_category,
    attribution,
    -- of the cause
    interruptions,
    lost_gpu_seconds,
    -- of its domain
    cast(sum(interruptions) over (partition by failure_domain) as bigint) as domain_interruptions,
    sum(lost_gpu_seconds) over (partition by failure_domain) as domain_lost_gpu_seconds
from window_interruptions(chosen_team, chosen_workload, first_day, last_day)
where chosen_attribution = 'all' or attribution = chosen_attribution
