-- The seconds of each attempt on each day by area, with whose they are.
-- grain: one row per job_no, attempt, day
select
    facts.job_no,
    facts.base_job_no,
    facts.attempt,
    days.day,
    facts.team,
    facts.workload,
    facts.gpus,
    facts.is_counted,
    -- from the window itself, not from its areas: the identity compares the two
    least(windows.window_end_us, calendar.to_us)
    - greatest(windows.started_us, calendar.from_us) as wall_us,
    days.scheduling_us,
    days.hardware_setup_us,
    days.launcher_init_us,
    days.trainer_init_us,
    days.pt2_compile_us,
    days.checkpoint_load_us,
    days.effective_us,
    days.unsaved_us,
    days.hang_us,
    days.checkpoint_save_us,
    days.evaluation_us,
    days.data_wait_us,
    days.shutdown_us,
    days.unaccounted_us,
    days.uninstrumented_us,
    days.scheduling_recovery_us,
    days.hardware_setup_recovery_us,
    days.launcher_init_recovery_us,
    days.trainer_init_recovery_us,
    days.pt2_compile_recovery_us,
    days.checkpoint_load_recovery_us
from attempt_area_days as days
inner join attempt_windows as windows on days.attempt_no = windows.attempt_no
inner join calendar on days.day = calendar.day
inner join attempt_facts as facts
    on
        windows.job_no = facts.job_no
        and windows.attempt = facts.attempt
