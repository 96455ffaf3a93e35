-- How one scope saves over the days that a reader chooses: what was measured beside what the model
-- of METRICS.md section 3 says of the same attempts, and what the best interval would gain.
-- Sums are weighed as `chosen_weight` says.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_weight
select
    count(*) as attempts,
    count(interval_seconds) as attempts_with_interval,
    count(*) filter (where is_interruption) as interruptions,
    count(weight) filter (where is_interruption) as weighed_interruptions,
    -- rates and percentiles
    case
        when weighed_interruptions > 0 or interruptions = 0 then max(scope_interruptions_per_day)
    end as interruptions_per_job_day,
    max(fleet_interruptions_per_day) as fleet_interruptions_per_job_day,
    quantile_disc(interval_seconds, 0.5) as interval_p50_seconds,
    -- sums
    sum(loop_seconds * weight) as loop_seconds,
    sum(unsaved_seconds * weight) filter (where interval_seconds is not null)
        as measured_unsaved_seconds,
    sum(modelled_unsaved_seconds * weight) as modelled_unsaved_seconds,
    sum(checkpoint_save_seconds * weight) filter (where interval_seconds is not null)
        as measured_blocked_seconds,
    sum(modelled_blocked_seconds * weight) as modelled_blocked_seconds,
    sum(unsaved_seconds * weight) as unsaved_seconds,
    sum(gain_seconds * weight) as gain_seconds
from modelled_checkpoints(chosen_team, chosen_workload, first_day, last_day, chosen_weight)
