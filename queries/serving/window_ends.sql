-- How often attempts of one scope were stopped, on each day and over all the days that a reader
-- chooses; rates are ratios of sums. `chosen_attribution` is an attribution, or `all`: it limits
-- what is counted as `counted`, and the rates of it. Of failures alone, which preemptions are not,
-- the rates are of `infra` and of `all`, and null for another attribution.
-- grain: one row per day, and one whose day is null for all of them
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_attribution
with

held as (

    select
        days.day,
        totals.gpu_us,
        totals.wall_us,
        totals.attempts_ended,
        totals.preempted,
        totals.failed + totals.timeout + totals.lost as failures,
        totals.infra_failures,
        case chosen_attribution
            when 'all' then coalesce(totals.failed + totals.timeout + totals.lost, 0)
            when 'infra' then coalesce(totals.infra_failures, 0)
        end as counted_failures,
        case chosen_attribution
            when 'all' then coalesce(totals.gpu_failures, 0)
            when 'infra' then coalesce(totals.infra_gpu_failures, 0)
        end as counted_failures_of_known_gpus
    from days
    left join team_day_totals as totals
        on
            days.day = totals.day
            and totals.team = chosen_team
            and totals.workload = chosen_workload
    where days.day between first_day and last_day

),

stopped as (

    select
        day,
        sum(interruptions) as interruptions,
        sum(case when attribution = 'infra' then interruptions else 0 end) as infra_interruptions,
        sum(case when failure_domain = 'unknown' then interruptions else 0 end)
            as uncategorised_interruptions,
        sum(
            case
                when chosen_attribution in ('all', attribution) then interruptions
                else 0
            end
        ) as counted,
        sum(
            case
                when chosen_attribution in ('all', attribution) then gpu_interruptions
                else 0
            end
        ) as counted_of_known_gpus,
        sum(
            case
                when chosen_attribution in ('all', attribution) then costed_interruptions
                else 0
            end
        ) as counted_of_known_cost,
        -- null: their GPUs are unknown, or nothing of them is instrumented
        sum(lost_gpu_seconds) filter (where chosen_attribution in ('all', attribution))
            as counted_lost_gpu_seconds
    from failures_by_team_day
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day
    group by day

),

summed as (

    select
        held.day,
        -- null: nothing ran, or on GPUs that are unknown
        sum(held.gpu_us) / 1e6 as gpu_seconds,
        sum(held.wall_us) / 1e6 as wall_seconds,
        cast(coalesce(sum(held.attempts_ended), 0) as bigint) as attempts_ended,
        cast(coalesce(sum(held.preempted), 0) as bigint) as preempted,
        cast(coalesce(sum(held.failures), 0) as bigint) as failures,
        cast(coalesce(sum(held.infra_failures), 0) as bigint) as infra_failures,
        cast(sum(held.counted_failures) as bigint) as counted_failures,
        cast(sum(held.counted_failures_of_known_gpus) as bigint) as counted_failures_of_known_gpus,
        cast(coalesce(sum(stopped.interruptions), 0) as bigint) as interruptions,
        cast(coalesce(sum(stopped.infra_interruptions), 0) as bigint) as infra_interruptions,
        cast(coalesce(sum(stopped.uncategorised_interruptions), 0) as bigint)
            as uncategorised_interruptions,
        cast(coalesce(sum(stopped.counted), 0) as bigint) as counted,
        cast(coalesce(sum(stopped.counted_of_known_gpus), 0) as bigint) as counted_of_known_gpus,
        cast(coalesce(sum(stopped.counted_of_known_cost), 0) as bigint) as counted_of_known_cost,
        case
            when coalesce(sum(stopped.counted), 0) = 0 then 0
            else sum(stopped.counted_lost_gpu_seconds)
        end as counted_lost_gpu_seconds
    from held
    left join stopped on held.day = stopped.day
    group by grouping sets ((held.day), ())

)

select
    *,
    counted_of_known_gpus * 86400000.0 / nullif(gpu_seconds, 0) as interruptions_per_1000_gpu_days,
    wall_seconds / nullif(counted, 0) as between_interruptions_seconds,
    gpu_seconds / nullif(counted_of_known_gpus, 0) as between_interruptions_gpu_seconds,
    counted_failures_of_known_gpus * 86400000.0 / nullif(gpu_seconds, 0)
        as failures_per_1000_gpu_days,
    wall_seconds / nullif(counted_failures, 0) as between_failures_seconds,
    gpu_seconds / nullif(counted_failures_of_known_gpus, 0) as between_failures_gpu_seconds,
    preempted / nullif(attempts_ended, 0) as preemption_ratio,
    infra_interruptions / nullif(interruptions, 0) as infra_ratio,
    uncategorised_interruptions / nullif(interruptions, 0) as uncategorised_ratio
from summed
