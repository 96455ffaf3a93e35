-- What the detector reads: each measure of each team by day and class of work, as sums of whole
-- numbers, so that no order of the rows can change them.
-- of `_seconds`: observations, logs of their seconds and the squares of those, in millionths;
-- of the others: exposure and what fell on it (events; or milliseconds and their squares). The
-- exposure of failures is in milliseconds too, times the GPUs.
-- grain: one row per team, metric, day, workload, size, trial, model
with

latencies as (

    select
        team,
        metric,
        day,
        workload,
        gpus,
        trial,
        model,
        1 as exposure,
        log_seconds_e6 as total,
        us as amount_us,
        whole_us * gpus as gpu_us
    from series_observations

),

shares as (

    select
        team,
        metric,
        day,
        workload,
        gpus,
        '' as trial,
        '' as model,
        whole_us // 1000 as exposure,
        us // 1000 as total,
        us as amount_us,
        us * gpus as gpu_us
    from series_shares

),

stopped as (

    select
        team,
        'preemption_ratio' as metric,
        day,
        workload,
        gpus,
        '' as trial,
        '' as model,
        1 as exposure,
        case when outcome = 'preempted' then 1 else 0 end as total,
        0 as amount_us,
        case when outcome = 'preempted' then lost_gpu_us end as gpu_us
    from series_ends

    union all

    select
        team,
        'failures' as metric,
        day,
        workload,
        gpus,
        '' as trial,
        '' as model,
        0 as exposure,
        1 as total,
        0 as amount_us,
        lost_gpu_us as gpu_us
    from series_ends
    where outcome in ('failed', 'timeout', 'lost')

    union all

    select
        team,
        concat('failures_', failure_domain) as metric,
        day,
        workload,
        gpus,
        '' as trial,
        '' as model,
        0 as exposure,
        1 as total,
        0 as amount_us,
        lost_gpu_us as gpu_us
    from series_ends
    where outcome in ('failed', 'timeout', 'lost')

    union all

    -- what failures fall on, of attempts that tell nothing of themselves too: the time that their
    -- GPUs were held; where these are unknown, time
    select
        days.team,
        'failures' as metric,
        days.day,
        days.workload,
        days.gpus,
        '' as trial,
        '' as model,
        days.wall_us // 1000 * coalesce(days.gpus, 1) as exposure,
        0 as total,
        0 as amount_us,
        null as gpu_us  -- only ends cost something
    from attempt_day_facts_kept as days
    inner join touched_days as touched on days.day = touched.day
    where
        days.is_counted
        and days.wall_us > 0

),

long as (

    select *
    from latencies
    union all
    select *
    from shares
    union all
    select *
    from stopped

)

select
    team,
    metric,
    day,
    workload,
    -- the power of two that the GPUs fit in; -1: unknown
    cast(coalesce(ceil(log2(nullif(gpus, 0))), -1) as integer) as size,
    trial,
    model,
    -- attempts: a failure is told by the one that it ended, which counts by what it fell on
    count(*) filter (where exposure > 0) as rows,
    cast(sum(exposure) as bigint) as exposure,
    cast(sum(total) as hugeint) as total,
    cast(sum(cast(total as hugeint) * total) as hugeint) as squares,
    cast(sum(amount_us) as hugeint) as amount_us,
    cast(sum(gpu_us) as hugeint) as gpu_us
from long
group by team, metric, day, workload, size, trial, model
order by team asc, metric asc, day asc, workload asc, size asc, trial asc, model asc
