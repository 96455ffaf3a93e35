-- What waits for a first batch are made of, by day: the median seconds per area, up to that batch,
-- of first attempts (`start`) and of attempts that recovered from an interruption (`recovery`),
-- those that trained.
-- grain: one row per wait, day, area
-- macro: chosen_team, chosen_workload, first_day, last_day
with

started as (

    select
        first_batch_day as day,
        case when ttr_us is not null then 'recovery' else 'start' end as wait,
        -- null: time to start begins after it
        case when ttr_us is not null then scheduling_startup_us end as scheduling_us,
        hardware_setup_startup_us as hardware_setup_us,
        launcher_init_startup_us as launcher_init_us,
        trainer_init_startup_us as trainer_init_us,
        pt2_compile_startup_us as pt2_compile_us,
        checkpoint_load_startup_us as checkpoint_load_us
    from attempts
    where
        is_counted
        and (tts_us is not null or ttr_us is not null)
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and first_batch_day between first_day and last_day

),

middles as (

    select
        wait,
        day,
        count(*) as attempts,
        quantile_disc(scheduling_us, 0.5) as scheduling,
        quantile_disc(hardware_setup_us, 0.5) as hardware_setup,
        quantile_disc(launcher_init_us, 0.5) as launcher_init,
        quantile_disc(trainer_init_us, 0.5) as trainer_init,
        quantile_disc(pt2_compile_us, 0.5) as pt2_compile,
        quantile_disc(checkpoint_load_us, 0.5) as checkpoint_load
    from started
    group by wait, day

),

long as (

    unpivot middles
    on columns(* exclude (wait, day, attempts))
    into name area value us

)

select
    wait,
    day,
    area,
    attempts,
    us / 1e6 as p50_seconds
from long
