-- The accounting identity: sum of the areas = wall, for every day, in microseconds.
-- grain: one row per day
select
    day,
    sum(wall_us)::bigint as wall_us,
    sum(
        scheduling_us
        + hardware_setup_us
        + launcher_init_us
        + trainer_init_us
        + pt2_compile_us
        + checkpoint_load_us
        + effective_us
        + unsaved_us
        + hang_us
        + checkpoint_save_us
        + evaluation_us
        + data_wait_us
        + shutdown_us
        + unaccounted_us
        + uninstrumented_us
    )::bigint as areas_us,
    (sum(wall_us) - sum(
        scheduling_us
        + hardware_setup_us
        + launcher_init_us
        + trainer_init_us
        + pt2_compile_us
        + checkpoint_load_us
        + effective_us
        + unsaved_us
        + hang_us
        + checkpoint_save_us
        + evaluation_us
        + data_wait_us
        + shutdown_us
        + unaccounted_us
        + uninstrumented_us
    ))::bigint as gap_us
from warehouse.attempt_day_facts_kept
group by day
order by day asc
