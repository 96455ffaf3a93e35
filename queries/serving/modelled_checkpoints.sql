-- What saving costs each attempt of one scope by the model of METRICS.md section 3, at its own
-- interval and at the best one. Attempts by the day of their end, and those that ran on after the
-- last complete day by that day, each counted whole; null where no interval is known.
-- Interruptions a day of train loop are the team's; the fleet's where a team had fewer than five
-- that can be weighed. Null where there were interruptions and none of them can. Train loop is that
-- of the days, of attempts that still run too: to leave these out would tell too many a day.
-- `chosen_weight` gpu: an attempt counts by its GPUs; wall: every attempt counts the same.
-- grain: one row per job_id, attempt
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_weight
with

stops as (

    select
        team,
        count(*) as interruptions,
        count(case when chosen_weight = 'gpu' then gpus else 1 end) as weighed,
        sum(case when chosen_weight = 'gpu' then gpus else 1 end) as stopped
    from checkpointing
    where
        is_interruption
        and (chosen_workload = 'all' or workload = chosen_workload)
        and ended_day between first_day and last_day
    group by team

),

-- of the days themselves: what still runs was exposed to interruptions as well
loops as (

    select
        team,
        sum(
            case
                when chosen_weight = 'gpu'
                    then
                        effective_gpu_us
                        + unsaved_gpu_us
                        + checkpoint_save_gpu_us
                        + evaluation_gpu_us
                        + data_wait_gpu_us
                        + hang_gpu_us
                else
                    effective_us
                    + unsaved_us
                    + checkpoint_save_us
                    + evaluation_us
                    + data_wait_us
                    + hang_us
            end
        ) / 86400e6 as loop_days
    from team_day_totals
    where
        team <> 'fleet'
        and workload = chosen_workload
        and day between first_day and last_day
    group by team

),

teams as (

    select
        loops.team,
        loops.loop_days,
        coalesce(stops.interruptions, 0) as interruptions,
        coalesce(stops.weighed, 0) as weighed,
        case when stops.interruptions > 0 then stops.stopped else 0 end as stopped
    from loops
    left join stops on loops.team = stops.team

),

rates as (

    select
        team,
        weighed,
        stopped / nullif(loop_days, 0) as per_day,
        case
            when sum(weighed) over () > 0 or sum(interruptions) over () = 0
                then sum(stopped) over ()
        end
        / nullif(sum(loop_days) over (), 0) as fleet_per_day
    from teams

),

rated as (

    select
        habits.job_id,
        habits.attempt,
        habits.team,
        habits.gpus,
        case when chosen_weight = 'gpu' then habits.gpus else 1 end as weight,
        -- what came after these days is told of other ones
        habits.is_interruption and habits.ended_day <= last_day as is_interruption,
        -- one that still runs may have said its last word before the midnight that is over
        habits.is_open or habits.ended_day > last_day as runs_on,
        habits.saves,
        case when rates.weighed >= 5 then rates.per_day else rates.fleet_per_day end
            as interruptions_per_day,
        case when chosen_team = 'fleet' then rates.fleet_per_day else rates.per_day end
            as scope_interruptions_per_day,
        rates.fleet_per_day as fleet_interruptions_per_day,
        -- saves that all began at one instant tell no interval
        nullif(habits.interval_us, 0) / 1e6 as interval_seconds,
        habits.blocked_us / 1e6 as blocked_seconds,
        habits.loop_us / 1e6 as loop_seconds,
        case when habits.ended_day <= last_day then habits.unsaved_us else 0 end / 1e6
            as unsaved_seconds,
        habits.checkpoint_save_us / 1e6 as checkpoint_save_seconds
    from checkpointing as habits
    inner join rates on habits.team = rates.team
    cross join publication
    where
        (chosen_team = 'fleet' or habits.team = chosen_team)
        and (chosen_workload = 'all' or habits.workload = chosen_workload)
        and (
            habits.ended_day between first_day and last_day
            -- it lasts into a day that is not complete, which no window of complete days has
            or (
                habits.ended_day > last_day
                and habits.started_day <= publication.last_complete_day
                and publication.last_complete_day between first_day and last_day
            )
        )

)

select
    *,
    -- what is modelled
    case when is_interruption then interval_seconds / 2 else interval_seconds * 0 end
        as modelled_unsaved_seconds,
    loop_seconds / interval_seconds * blocked_seconds as modelled_blocked_seconds,
    -- null: nothing was ever interrupted, and any interval is too short; or only the ends of saves
    -- are told, so that what they block is not known
    sqrt(2 * nullif(blocked_seconds, 0) * 86400 / nullif(interruptions_per_day, 0))
        as best_interval_seconds,
    -- nothing loses more than all of it
    case
        when interruptions_per_day > 0 and blocked_seconds > 0 and interval_seconds > 0
            then
                loop_seconds * (
                    least(
                        1,
                        interruptions_per_day * interval_seconds / 2 / 86400
                        + blocked_seconds / interval_seconds
                    )
                    - least(1, sqrt(2 * blocked_seconds * interruptions_per_day / 86400))
                )
    end as gain_seconds
from rated
