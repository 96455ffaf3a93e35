-- A regression by class of work: how often each class was, and what it took, before and after.
-- `speed_change` and `mix_change` sum over the classes to the change of the mean, exactly: of a
-- class the mean weight times its change, and its mean times the change of its weight. A class
-- that was absent on one side has changed in weight only.
-- Values are in the unit of the series: seconds, ratios, or failures per 1,000 GPU-days (where no
-- GPUs are known at all: per 1,000 attempt-days).
-- grain: one row per team, metric, started_on, workload, size
with

told as (

    select
        found.team,
        found.metric,
        found.started_on,
        cells.workload,
        cells.size,
        cells.day >= found.started_on as is_after,
        sum(cells.exposure) as exposure,
        -- whole numbers, so that no order of the rows can change the sum
        sum(case
            when found.metric like '%_seconds' then cells.amount_us
            when found.metric = 'ett_ratio' then cells.exposure - cells.total
            when cells.metric = found.metric and found.metric like 'failures%'
                then cells.total * 86400000000
            when cells.metric = found.metric then cells.total
            else 0
        end) / case when found.metric like '%_seconds' then 1e6 else 1 end as amount
    from fresh_regressions as found
    inner join read_cells as cells
        on
            (found.team = cells.team or found.team = 'fleet')
            and (
                found.metric = cells.metric
                -- failures of a domain fall on what all failures fall on
                or (cells.metric = 'failures' and found.metric like 'failures_%')
            )
            and cells.day between found.before_from and found.after_to
    group by found.team, found.metric, found.started_on, cells.workload, cells.size, is_after

),

shared as (

    select
        *,
        sum(exposure) over (
            partition by team, metric, started_on, is_after
        ) as whole
    from told

),

paired as (

    select
        team,
        metric,
        started_on,
        workload,
        size,
        coalesce(sum(exposure / nullif(whole, 0)) filter (where not is_after), 0)
            as before_share,
        coalesce(sum(exposure / nullif(whole, 0)) filter (where is_after), 0) as after_share,
        sum(amount / nullif(exposure, 0)) filter (where not is_after) as before_value,
        sum(amount / nullif(exposure, 0)) filter (where is_after) as after_value
    from shared
    group by team, metric, started_on, workload, size

)

select
    team,
    metric,
    started_on,
    workload,
    size,
    case when size = 0 then 1 when size > 0 then cast(pow(2, size - 1) as bigint) + 1 end
        as gpus_from,
    case when size >= 0 then cast(pow(2, size) as bigint) end as gpus_to,
    before_share,
    after_share,
    before_value,
    after_value,
    (before_share + after_share) / 2
    * (coalesce(after_value, before_value) - coalesce(before_value, after_value))
        as speed_change,
    (coalesce(after_value, before_value) + coalesce(before_value, after_value)) / 2
    * (after_share - before_share) as mix_change
from paired
where coalesce(before_value, after_value) is not null
order by team asc, metric asc, started_on asc, workload asc, size asc
