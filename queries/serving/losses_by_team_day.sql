-- What was lost per scope and day, by where in an attempt's life: in its first start-up, in the
-- start-up after an interruption (recovery), in the train loop (wasted), in shutdown, unaccounted.
-- Together they are all that was lost. Null: nothing is instrumented; in GPU-seconds: nothing of
-- which the GPUs are known.
-- grain: one row per team, workload, day
-- stored: no
select
    team,
    workload,
    day,
    -- seconds
    (wall_us - uninstrumented_us) / 1e6 as instrumented_seconds,
    case when wall_us > uninstrumented_us then wall_us - uninstrumented_us - effective_us end / 1e6
        as lost_seconds,
    case when wall_us > uninstrumented_us then (
        scheduling_us
        + hardware_setup_us
        + launcher_init_us
        + trainer_init_us
        + pt2_compile_us
        + checkpoint_load_us
        - scheduling_recovery_us
        - hardware_setup_recovery_us
        - launcher_init_recovery_us
        - trainer_init_recovery_us
        - pt2_compile_recovery_us
        - checkpoint_load_recovery_us
    ) end / 1e6 as start_up_seconds,
    case when wall_us > uninstrumented_us then (
        scheduling_recovery_us
        + hardware_setup_recovery_us
        + launcher_init_recovery_us
        + trainer_init_recovery_us
        + pt2_compile_recovery_us
        + checkpoint_load_recovery_us
    ) end / 1e6 as recovery_seconds,
    case when wall_us > uninstrumented_us then (
        unsaved_us
        + hang_us
        + checkpoint_save_us
        + evaluation_us
        + data_wait_us
    ) end / 1e6 as wasted_seconds,
    case when wall_us > uninstrumented_us then shutdown_us end / 1e6 as shutdown_seconds,
    case when wall_us > uninstrumented_us then unaccounted_us end / 1e6 as unaccounted_seconds,
    -- GPU-seconds
    (gpu_us - uninstrumented_gpu_us) / 1e6 as instrumented_gpu_seconds,
    case
        when gpu_us > uninstrumented_gpu_us then gpu_us - uninstrumented_gpu_us - effective_gpu_us
    end / 1e6 as lost_gpu_seconds,
    case when gpu_us > uninstrumented_gpu_us then (
        scheduling_gpu_us
        + hardware_setup_gpu_us
        + launcher_init_gpu_us
        + trainer_init_gpu_us
        + pt2_compile_gpu_us
        + checkpoint_load_gpu_us
        - scheduling_recovery_gpu_us
        - hardware_setup_recovery_gpu_us
        - launcher_init_recovery_gpu_us
        - trainer_init_recovery_gpu_us
        - pt2_compile_recovery_gpu_us
        - checkpoint_load_recovery_gpu_us
    ) end / 1e6 as start_up_gpu_seconds,
    case when gpu_us > uninstrumented_gpu_us then (
        scheduling_recovery_gpu_us
        + hardware_setup_recovery_gpu_us
        + launcher_init_recovery_gpu_us
        + trainer_init_recovery_gpu_us
        + pt2_compile_recovery_gpu_us
        + checkpoint_load_recovery_gpu_us
    ) end / 1e6 as recovery_gpu_seconds,
    case when gpu_us > uninstrumented_gpu_us then (
        unsaved_gpu_us
        + hang_gpu_us
        + checkpoint_save_gpu_us
        + evaluation_gpu_us
        + data_wait_gpu_us
    ) end / 1e6 as wasted_gpu_seconds,
    case when gpu_us > uninstrumented_gpu_us then shutdown_gpu_us end / 1e6 as shutdown_gpu_seconds,
    case when gpu_us > uninstrumented_gpu_us then unaccounted_gpu_us end / 1e6
        as unaccounted_gpu_seconds
from team_day_totals
