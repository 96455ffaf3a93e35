-- How long each stage of starting, up to the first batch, and of stopping was open, in attempts
-- that got past it.
-- grain: one row per job_no, attempt, metric
with

-- first, so that only theirs are looked for among the stages of all attempts
touched_attempts as materialized (

    select
        job_no,
        attempt,
        team,
        workload,
        gpus,
        model,
        outcome,
        scheduling_us,
        first_batch_day,
        ended_day
    from attempt_facts_kept
    where
        is_counted
        and is_instrumented
        and first_batch_day is not null
        and (
            ended_day in (select ended.day from touched_days as ended)
            or first_batch_day in (select started.day from touched_days as started)
        )

)

select
    facts.job_no,
    facts.attempt,
    facts.team,
    concat(cast(stages.phase as varchar), '_', stages.stage, '_seconds') as metric,
    touched.day,
    facts.workload,
    facts.gpus,
    case
        when stages.phase = 'shutdown' then cast(facts.outcome as varchar)
        when facts.attempt = 1 then 'first'
        when facts.scheduling_us = 0 then 'in place'
        else 'retry'
    end as trial,
    coalesce(facts.model, '') as model,
    -- of pruned jobs of an older release the whole is known alone
    case
        when stages.phase = 'shutdown' then stages.us
        else coalesce(stages.startup_us, stages.us)
    end as us
from stage_facts_kept as stages
inner join touched_attempts as facts
    on
        stages.job_no = facts.job_no
        and stages.attempt = facts.attempt
inner join touched_days as touched
    on
        case when stages.phase = 'shutdown' then facts.ended_day else facts.first_batch_day end
        = touched.day
where
    -- in the train loop a stage comes again and again: what it takes there grows with the run
    stages.phase in (
        'scheduling',
        'hardware_setup',
        'launcher_init',
        'trainer_init',
        'pt2_compile',
        'checkpoint_load',
        'shutdown'
    )
    and (stages.phase <> 'shutdown' or facts.outcome <> 'running')
    and stages.us > 0
    and (stages.phase = 'shutdown' or coalesce(stages.startup_us, stages.us) > 0)
