-- Mean seconds of each phase and stage that the team's attempts told, before and after.
-- `gpu_seconds_change_per_day` is what the difference costs at the pace of the days after.
-- grain: one row per team, metric, started_on, part
with

told as (

    select
        found.team,
        found.metric,
        found.started_on,
        cells.metric as part,
        found.after_to - found.started_on + 1 as days,
        cells.day >= found.started_on as is_after,
        sum(cells.exposure) as attempts,
        sum(cells.amount_us) / 1e6 as seconds,
        sum(cells.gpu_us) / 1e6 as gpu_seconds
    from fresh_regressions as found
    inner join warehouse.series_cells_kept as cells
        on
            (found.team = cells.team or found.team = 'fleet')
            and cells.metric like '%_seconds'
            and cells.day between found.before_from and found.after_to
    group by all

),

paired as (

    select
        team,
        metric,
        started_on,
        part,
        any_value(days) as days,
        sum(attempts) filter (where not is_after) as attempts_before,
        sum(attempts) filter (where is_after) as attempts_after,
        sum(seconds / attempts) filter (where not is_after) as before_seconds,
        sum(seconds / attempts) filter (where is_after) as after_seconds,
        sum(gpu_seconds) filter (where is_after) as gpu_seconds
    from told
    group by team, metric, started_on, part

)

select
    team,
    metric,
    started_on,
    part,
    cast(attempts_before as bigint) as attempts_before,
    cast(attempts_after as bigint) as attempts_after,
    before_seconds,
    after_seconds,
    after_seconds - before_seconds as change_seconds,
    gpu_seconds / days * (1 - before_seconds / after_seconds) as gpu_seconds_change_per_day
from paired
order by team asc, metric asc, started_on asc, part asc
