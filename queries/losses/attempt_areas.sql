-- The seconds of each attempt by area, over all its days.
-- grain: one row per attempt_no
select
    attempt_no,
    cast(sum(scheduling_us) as bigint) as scheduling_us,
    cast(sum(hardware_setup_us) as bigint) as hardware_setup_us,
    cast(sum(launcher_init_us) as bigint) as launcher_init_us,
    cast(sum(trainer_init_us) as bigint) as trainer_init_us,
    cast(sum(pt2_compile_us) as bigint) as pt2_compile_us,
    cast(sum(checkpoint_load_us) as bigint) as checkpoint_load_us,
    cast(sum(effective_us) as bigint) as effective_us,
    cast(sum(unsaved_us) as bigint) as unsaved_us,
    cast(sum(hang_us) as bigint) as hang_us,
    cast(sum(checkpoint_save_us) as bigint) as checkpoint_save_us,
    cast(sum(evaluation_us) as bigint) as evaluation_us,
    cast(sum(data_wait_us) as bigint) as data_wait_us,
    cast(sum(shutdown_us) as bigint) as shutdown_us,
    cast(sum(unaccounted_us) as bigint) as unaccounted_us,
    cast(sum(uninstrumented_us) as bigint) as uninstrumented_us,
    cast(sum(scheduling_recovery_us) as bigint) as scheduling_recovery_us,
    cast(sum(hardware_setup_recovery_us) as bigint) as hardware_setup_recovery_us,
    cast(sum(launcher_init_recovery_us) as bigint) as launcher_init_recovery_us,
    cast(sum(trainer_init_recovery_us) as bigint) as trainer_init_recovery_us,
    cast(sum(pt2_compile_recovery_us) as bigint) as pt2_compile_recovery_us,
    cast(sum(checkpoint_load_recovery_us) as bigint) as checkpoint_load_recovery_us,
    cast(sum(scheduling_startup_us) as bigint) as scheduling_startup_us,
    cast(sum(hardware_setup_startup_us) as bigint) as hardware_setup_startup_us,
    cast(sum(launcher_init_startup_us) as bigint) as launcher_init_startup_us,
    cast(sum(trainer_init_startup_us) as bigint) as trainer_init_startup_us,
    cast(sum(pt2_compile_startup_us) as bigint) as pt2_compile_startup_us,
    cast(sum(checkpoint_load_startup_us) as bigint) as checkpoint_load_startup_us
from attempt_area_days
group by attempt_no
