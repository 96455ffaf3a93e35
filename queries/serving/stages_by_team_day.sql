-- The time that stages were open, per team, workload and day: the day of the first batch for the
-- stages of a start (of the end where there was none), the day of the end for those of a shutdown.
-- grain: one row per team, workload, day, phase, stage
-- changes by: day
with

-- first, so that only theirs are looked for among the stages of all attempts
published_attempts as materialized (

    select
        job_no,
        attempt,
        team,
        workload,
        gpus,
        first_batch_day,
        ended_day
    from warehouse.attempt_facts_kept
    where
        is_counted
        and is_instrumented
        and (
            ended_day in (select ended.day from publishing_days as ended)
            or first_batch_day in (select started.day from publishing_days as started)
        )

),

staged as (

    select
        facts.team,
        facts.workload,
        case
            when stages.phase = 'shutdown' then facts.ended_day
            else coalesce(facts.first_batch_day, facts.ended_day)
        end as day,
        cast(stages.phase as varchar) as phase,
        stages.stage,
        stages.us,
        stages.us * facts.gpus as gpu_us
    from warehouse.stage_facts_kept as stages
    inner join published_attempts as facts
        on
            stages.job_no = facts.job_no
            and stages.attempt = facts.attempt

)

select
    team,
    workload,
    day,
    phase,
    stage,
    count(*) as attempts,
    cast(sum(us) as bigint) as us,
    cast(sum(gpu_us) as hugeint) as gpu_us  -- null: no GPUs are known
from staged
where day in (select days.day from publishing_days as days)
group by team, workload, day, phase, stage
order by day asc, team asc, workload asc, phase asc, stage asc
