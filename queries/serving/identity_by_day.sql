-- The accounting identity: sum of the areas = wall, for every day, in microseconds.
-- grain: one row per day
with

summed as (

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
        )::bigint as areas_us
    from warehouse.attempt_day_facts_kept
    group by day

)

select
    day,
    wall_us,
    areas_us,
    wall_us - areas_us as gap_us
from summed
order by day asc
