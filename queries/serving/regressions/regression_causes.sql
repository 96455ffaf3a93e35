-- What stopped the team's attempts a day, by cause, before and during a regression.
-- grain: one row per team, metric, started_on, failure_domain, failure_category
with

told as (

    select
        found.team,
        found.metric,
        found.started_on,
        split_part(ends.category, '/', 1) as failure_domain,
        split_part(ends.category, '/', 2) as failure_category,
        found.started_on - found.before_from as days_before,
        found.after_to - found.started_on + 1 as days_after,
        coalesce(sum(ends.interruptions) filter (where ends.day < found.started_on), 0)
            as interruptions_before,
        coalesce(sum(ends.interruptions) filter (where ends.day >= found.started_on), 0)
            as interruptions_after,
        sum(ends.lost_gpu_us) filter (where ends.day < found.started_on) / 1e6 as lost_before,
        sum(ends.lost_gpu_us) filter (where ends.day >= found.started_on) / 1e6 as lost_after
    from fresh_regressions as found
    inner join warehouse.failure_day_sums_kept as ends
        on
            (found.team = ends.team or found.team = 'fleet')
            and ends.day between found.before_from and found.after_to
    group by all

)

select
    team,
    metric,
    started_on,
    failure_domain,
    failure_category,
    cast(interruptions_before as bigint) as interruptions_before,
    cast(interruptions_after as bigint) as interruptions_after,
    interruptions_before / nullif(days_before, 0) as before_per_day,
    interruptions_after / days_after as after_per_day,
    -- null: what they cost is unknown
    case when interruptions_before = 0 then 0 else lost_before end / nullif(days_before, 0)
        as lost_gpu_seconds_before_per_day,
    case when interruptions_after = 0 then 0 else lost_after end / days_after
        as lost_gpu_seconds_after_per_day
from told
order by team asc, metric asc, started_on asc, failure_domain asc, failure_category asc
