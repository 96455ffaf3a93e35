-- How one scope saves over the days that a reader chooses: what was measured beside what the model
-- of METRICS.md section 3 says of the same attempts, and what the best interval would gain.
-- Sums are weighed as `chosen_weight` says.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_weight
with

trained as (

    -- 0 a day where all that trained still runs, and so nothing stopped it
    select
        case
            when
                sum(case when chosen_weight = 'gpu' then effective_gpu_us else effective_us end) > 0
                then 0.0
        end as uninterrupted_per_day,
        case when max(team) = 'fleet' then uninterrupted_per_day end as fleet_uninterrupted_per_day
    from team_day_totals
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day

)

select
    count(habits.job_id) as attempts,
    count(habits.interval_seconds) as attempts_with_interval,
    count(habits.weight) filter (where habits.interval_seconds is not null)
        as weighed_with_interval,
    -- counted where the days reach the last complete day, and in none before it
    count(*) filter (where habits.runs_on) as attempts_running_on,
    count(*) filter (where habits.is_interruption) as interruptions,
    count(habits.weight) filter (where habits.is_interruption) as weighed_interruptions,
    -- rates and percentiles
    case
        when attempts = 0 then max(trained.uninterrupted_per_day)
        when weighed_interruptions > 0 or interruptions = 0
            then max(habits.scope_interruptions_per_day)
    end as interruptions_per_job_day,
    case
        when attempts = 0 then max(trained.fleet_uninterrupted_per_day)
        else max(habits.fleet_interruptions_per_day)
    end as fleet_interruptions_per_job_day,
    quantile_disc(habits.interval_seconds, 0.5) as interval_p50_seconds,
    -- sums
    sum(habits.loop_seconds * habits.weight) as loop_seconds,
    sum(habits.unsaved_seconds * habits.weight) filter (where habits.interval_seconds is not null)
        as measured_unsaved_seconds,
    sum(habits.modelled_unsaved_seconds * habits.weight) as modelled_unsaved_seconds,
    sum(habits.checkpoint_save_seconds * habits.weight)
    filter (where habits.interval_seconds is not null)
        as measured_blocked_seconds,
    sum(habits.modelled_blocked_seconds * habits.weight) as modelled_blocked_seconds,
    sum(habits.unsaved_seconds * habits.weight) as unsaved_seconds,
    sum(habits.gain_seconds * habits.weight) as gain_seconds
from trained
left join
    modelled_checkpoints(chosen_team, chosen_workload, first_day, last_day, chosen_weight) as habits
    on true
