-- What each counted and instrumented attempt of one scope spent, by area, in the days that a reader
-- chooses: of one that crosses their borders, or still runs, what lies within.
-- grain: one row per job_id, attempt
-- macro: chosen_team, chosen_workload, first_day, last_day
with

split as (

    select
        job_id,
        attempt,
        any_value(team) as team,
        any_value(gpus) as gpus,
        sum(wall_us) / 1e6 as wall_seconds,
        sum(scheduling_us) / 1e6 as scheduling_seconds,
        sum(hardware_setup_us) / 1e6 as hardware_setup_seconds,
        sum(launcher_init_us) / 1e6 as launcher_init_seconds,
        sum(trainer_init_us) / 1e6 as trainer_init_seconds,
        sum(pt2_compile_us) / 1e6 as pt2_compile_seconds,
        sum(checkpoint_load_us) / 1e6 as checkpoint_load_seconds,
        sum(effective_us) / 1e6 as effective_seconds,
        sum(unsaved_us) / 1e6 as unsaved_seconds,
        sum(hang_us) / 1e6 as hang_seconds,
        sum(checkpoint_save_us) / 1e6 as checkpoint_save_seconds,
        sum(evaluation_us) / 1e6 as evaluation_seconds,
        sum(data_wait_us) / 1e6 as data_wait_seconds,
        sum(shutdown_us) / 1e6 as shutdown_seconds,
        sum(unaccounted_us) / 1e6 as unaccounted_seconds
    from attempt_days
    where
        day between first_day and last_day
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
    group by job_id, attempt

)

select *
from split

union all by name

select
    job_id,
    attempt,
    team,
    gpus,
    wall_seconds,
    scheduling_seconds,
    hardware_setup_seconds,
    launcher_init_seconds,
    trainer_init_seconds,
    pt2_compile_seconds,
    checkpoint_load_seconds,
    effective_seconds,
    unsaved_seconds,
    hang_seconds,
    checkpoint_save_seconds,
    evaluation_seconds,
    data_wait_seconds,
    shutdown_seconds,
    unaccounted_seconds
from attempts
where
    is_counted
    and is_instrumented
    and wall_seconds > 0
    and started_day = ended_day
    and ended_day between first_day and last_day
    and (chosen_team = 'fleet' or team = chosen_team)
    and (chosen_workload = 'all' or workload = chosen_workload)
