-- Where the seconds of each attempt went.
-- grain: one row per job_id, attempt, area, is_recovery
-- stored: no
with

long as (

    unpivot (
        select
            job_id,
            attempt,
            gpus,
            scheduling_seconds - scheduling_recovery_us / 1e6 as scheduling,
            hardware_setup_seconds - hardware_setup_recovery_us / 1e6 as hardware_setup,
            launcher_init_seconds - launcher_init_recovery_us / 1e6 as launcher_init,
            trainer_init_seconds - trainer_init_recovery_us / 1e6 as trainer_init,
            pt2_compile_seconds - pt2_compile_recovery_us / 1e6 as pt2_compile,
            checkpoint_load_seconds - checkpoint_load_recovery_us / 1e6 as checkpoint_load,
            effective_seconds as effective,
            unsaved_seconds as unsaved,
            hang_seconds as hang,
            checkpoint_save_seconds as checkpoint_save,
            evaluation_seconds as evaluation,
            data_wait_seconds as data_wait,
            shutdown_seconds as shutdown,
            unaccounted_seconds as unaccounted,
            uninstrumented_seconds as uninstrumented,
            scheduling_recovery_us / 1e6 as scheduling_recovery,
            hardware_setup_recovery_us / 1e6 as hardware_setup_recovery,
            launcher_init_recovery_us / 1e6 as launcher_init_recovery,
            trainer_init_recovery_us / 1e6 as trainer_init_recovery,
            pt2_compile_recovery_us / 1e6 as pt2_compile_recovery,
            checkpoint_load_recovery_us / 1e6 as checkpoint_load_recovery
        from attempts
    )
    on columns(* exclude (job_id, attempt, gpus))
    into name area value seconds

)

select
    job_id,
    attempt,
    replace(area, '_recovery', '') as area,
    suffix(area, '_recovery') as is_recovery,
    seconds,
    seconds * gpus as gpu_seconds
from long
where seconds > 0
