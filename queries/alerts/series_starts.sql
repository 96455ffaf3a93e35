-- What each first batch waited for: the areas of start-up, time to start and time to recover.
-- grain: one row per job_no, attempt, metric
with

started as (

    select
        facts.job_no,
        facts.attempt,
        facts.team,
        facts.workload,
        coalesce(facts.model, '') as model,
        facts.gpus,
        case
            when facts.attempt = 1 then 'first'
            when facts.scheduling_us = 0 then 'in place'
            else 'retry'
        end as trial,
        facts.first_batch_day as day,
        -- up to the first batch; of what was pruned under an earlier release, the whole attempt
        coalesce(facts.scheduling_startup_us, facts.scheduling_us) as scheduling_us,
        coalesce(facts.hardware_setup_startup_us, facts.hardware_setup_us) as hardware_setup_us,
        coalesce(facts.launcher_init_startup_us, facts.launcher_init_us) as launcher_init_us,
        coalesce(facts.trainer_init_startup_us, facts.trainer_init_us) as trainer_init_us,
        coalesce(facts.pt2_compile_startup_us, facts.pt2_compile_us) as pt2_compile_us,
        coalesce(facts.checkpoint_load_startup_us, facts.checkpoint_load_us) as checkpoint_load_us,
        facts.tts_us,
        facts.ttr_us
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.first_batch_day = touched.day
    where
        facts.is_counted
        and facts.is_instrumented

),

long as (

    unpivot (
        select
            job_no,
            attempt,
            team,
            workload,
            model,
            gpus,
            trial,
            day,
            scheduling_us as scheduling_seconds,
            hardware_setup_us as hardware_setup_seconds,
            launcher_init_us as launcher_init_seconds,
            trainer_init_us as trainer_init_seconds,
            pt2_compile_us as pt2_compile_seconds,
            checkpoint_load_us as checkpoint_load_seconds,
            tts_us as tts_seconds,
            ttr_us as ttr_seconds
        from started
    )
    on columns(* exclude (job_no, attempt, team, workload, model, gpus, trial, day))
    into name metric value us

)

select
    job_no,
    attempt,
    team,
    metric,
    day,
    workload,
    gpus,
    trial,
    model,
    us
from long
where us > 0
