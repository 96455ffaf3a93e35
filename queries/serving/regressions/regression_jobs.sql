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
        compared.*,
        names.job_id,
        compared.cost_seconds * compared.excess_ratio as excess_seconds,
        compared.gpu_seconds * compared.excess_ratio as excess_gpu_seconds,
        row_number() over (
            partition by compared.team, compared.metric, compared.started_on
            order by
                excess_gpu_seconds desc nulls last,
                excess_seconds desc nulls last,
                -- numbers of jobs go by the order in which dumps came
                names.job_id asc,
                compared.attempt asc,
                compared.day asc
        ) as place
    from compared
    inner join warehouse.job_names_kept as names on compared.job_no = names.job_no

)

select
    team,
    metric,
    started_on,
    place,
    job_id,
    attempt,
    job_team,
    day,
    gpus,
    seconds,
    expected_seconds,
    excess_seconds,
    excess_gpu_seconds
from ranked
where place <= 10
order by team asc, metric asc, started_on asc, place asc
