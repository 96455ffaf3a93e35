-- The attempts that a regression cost most, ten of each, over what their class took before: by
-- GPU-seconds; then those whose GPUs are unknown, by seconds.
-- grain: one row per team, metric, started_on, place
with

spent as (

    select
        team,
        metric,
        day,
        job_no,
        attempt,
        workload,
        gpus,
        us / 1e6 as seconds,
        whole_us / 1e6 as cost_seconds,
        whole_us / 1e6 * gpus as gpu_seconds
    from series_observations

    union all

    select
        team,
        metric,
        day,
        job_no,
        attempt,
        workload,
        gpus,
        us / 1e6 as seconds,
        us / 1e6 as cost_seconds,
        us / 1e6 * gpus as gpu_seconds
    from series_shares

    union all

    select
        team,
        -- of its domain, and of all
        unnest(
            case
                when outcome = 'preempted' then ['preemption_ratio']
                else [concat('failures_', failure_domain), 'failures']
            end
        ) as metric,
        day,
        job_no,
        attempt,
        workload,
        gpus,
        null as seconds,
        lost_us / 1e6 as cost_seconds,
        lost_gpu_us / 1e6 as gpu_seconds
    from series_ends
    where outcome in ('failed', 'timeout', 'lost', 'preempted')

),

compared as (

    select
        found.team,
        found.metric,
        found.started_on,
        spent.team as job_team,
        spent.job_no,
        spent.attempt,
        spent.day,
        spent.gpus,
        spent.seconds,
        case when found.metric like '%_seconds' then classes.before_value end
            as expected_seconds,
        spent.cost_seconds,
        spent.gpu_seconds,
        case
            -- of a class that was not there before, what such work was expected to take
            when found.metric like '%_seconds'
                then 1 - coalesce(classes.before_value, found.expected) / spent.seconds
            else 1
        end as excess_ratio
    from fresh_regressions as found
    inner join spent
        on
            found.metric = spent.metric
            and (found.team = spent.team or found.team = 'fleet')
            and spent.day between found.started_on and found.after_to
    left join regression_classes as classes
        on
            found.team = classes.team
            and found.metric = classes.metric
            and found.started_on = classes.started_on
            and spent.workload = classes.workload
            and cast(coalesce(ceil(log2(nullif(spent.gpus, 0))), -1) as integer) = classes.size

),

ranked as (

    select
        *,
        cost_seconds * excess_ratio as excess_seconds,
        gpu_seconds * excess_ratio as excess_gpu_seconds,
        row_number() over (
            partition by team, metric, started_on
            order by
                excess_gpu_seconds desc nulls last,
                excess_seconds desc nulls last,
                job_no asc,
                attempt asc,
                day asc
        ) as place
    from compared

)

select
    ranked.team,
    ranked.metric,
    ranked.started_on,
    ranked.place,
    names.job_id,
    ranked.attempt,
    ranked.job_team,
    ranked.day,
    ranked.gpus,
    ranked.seconds,
    ranked.expected_seconds,
    ranked.excess_seconds,
    ranked.excess_gpu_seconds
from ranked
inner join warehouse.job_names_kept as names on ranked.job_no = names.job_no
where ranked.place <= 10
order by ranked.team asc, ranked.metric asc, ranked.started_on asc, ranked.place asc
