-- What each first batch waited for: the areas of start-up, time to start and time to recover.
-- grain: one row per job_no, attempt, metric
with

started as (

    select
        job_no,
        attempt,
        team,
        workload,
        coalesce(model, '') as model,
        gpus,
        case
            when attempt = 1 then 'first'
            when scheduling_us = 0 then 'in place'
            else 'retry'
        end as trial,
        first_batch_day as day,
        scheduling_us,
        hardware_setup_us,
        launcher_init_us,
        trainer_init_us,
        pt2_compile_us,
        checkpoint_load_us,
        tts_us,
        ttr_us
    from attempt_facts_kept
    where
        is_counted
        and is_instrumented
        and first_batch_day is not null

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
