-- The seconds of each attempt by area, over all its days.
-- grain: one row per attempt_no
select
    attempt_no,
    sum(scheduling_us) as scheduling_us,
    sum(hardware_setup_us) as hardware_setup_us,
    sum(launcher_init_us) as launcher_init_us,
    sum(trainer_init_us) as trainer_init_us,
    sum(pt2_compile_us) as pt2_compile_us,
    sum(checkpoint_load_us) as checkpoint_load_us,
    sum(effective_us) as effective_us,
    sum(unsaved_us) as unsaved_us,
    sum(hang_us) as hang_us,
    sum(checkpoint_save_us) as checkpoint_save_us,
    sum(evaluation_us) as evaluation_us,
    sum(data_wait_us) as data_wait_us,
    sum(shutdown_us) as shutdown_us,
    sum(unaccounted_us) as unaccounted_us,
    sum(uninstrumented_us) as uninstrumented_us,
    sum(scheduling_recovery_us) as scheduling_recovery_us,
    sum(hardware_setup_recovery_us) as hardware_setup_recovery_us,
    sum(launcher_init_recovery_us) as launcher_init_recovery_us,
    sum(trainer_init_recovery_us) as trainer_init_recovery_us,
    sum(pt2_compile_recovery_us) as pt2_compile_recovery_us,
    sum(checkpoint_load_recovery_us) as checkpoint_load_recovery_us,
    sum(scheduling_startup_us) as scheduling_startup_us,
    sum(hardware_setup_startup_us) as hardware_setup_startup_us,
    sum(launcher_init_startup_us) as launcher_init_startup_us,
    sum(trainer_init_startup_us) as trainer_init_startup_us,
    sum(pt2_compile_startup_us) as pt2_compile_startup_us,
    sum(checkpoint_load_startup_us) as checkpoint_load_startup_us
from attempt_area_days
group by attempt_no
