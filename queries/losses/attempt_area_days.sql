-- The seconds of each attempt on each day by area, in microseconds, wide: one column an area, and
-- of the start-up areas beside them what came before the first batch, and what was recovery.
-- grain: one row per attempt_no, day
with

summed as (

    select
        intervals.attempt_no,
        calendar.day,
        intervals.area,
        cast(sum(intervals.to_us - intervals.from_us) as bigint) as us,
        cast(sum(
            case when intervals.is_recovery then intervals.to_us - intervals.from_us else 0 end
        ) as bigint) as recovery_us,
        cast(sum(
            case when intervals.is_startup then intervals.to_us - intervals.from_us else 0 end
        ) as bigint) as startup_us
    from area_intervals as intervals
    inner join calendar_pieces as calendar
        on
            calendar.utc_day = intervals.from_us // 86400000000
            and intervals.from_us >= calendar.from_us
            and intervals.from_us < calendar.to_us
    group by intervals.attempt_no, calendar.day, intervals.area

)

select
    attempt_no,
    day,
    -- by area
    max(case when area = 'scheduling' then us else 0 end) as scheduling_us,
    max(case when area = 'hardware_setup' then us else 0 end) as hardware_setup_us,
    max(case when area = 'launcher_init' then us else 0 end) as launcher_init_us,
    max(case when area = 'trainer_init' then us else 0 end) as trainer_init_us,
    max(case when area = 'pt2_compile' then us else 0 end) as pt2_compile_us,
    max(case when area = 'checkpoint_load' then us else 0 end) as checkpoint_load_us,
    max(case when area = 'effective' then us else 0 end) as effective_us,
    max(case when area = 'unsaved' then us else 0 end) as unsaved_us,
    max(case when area = 'hang' then us else 0 end) as hang_us,
    max(case when area = 'checkpoint_save' then us else 0 end) as checkpoint_save_us,
    max(case when area = 'evaluation' then us else 0 end) as evaluation_us,
    max(case when area = 'data_wait' then us else 0 end) as data_wait_us,
    max(case when area = 'shutdown' then us else 0 end) as shutdown_us,
    max(case when area = 'unaccounted' then us else 0 end) as unaccounted_us,
    max(case when area = 'uninstrumented' then us else 0 end) as uninstrumented_us,
    -- of which recovery
    max(case when area = 'scheduling' then recovery_us else 0 end) as scheduling_recovery_us,
    max(case when area = 'hardware_setup' then recovery_us else 0 end)
        as hardware_setup_recovery_us,
    max(case when area = 'launcher_init' then recovery_us else 0 end)
        as launcher_init_recovery_us,
    max(case when area = 'trainer_init' then recovery_us else 0 end)
        as trainer_init_recovery_us,
    max(case when area = 'pt2_compile' then recovery_us else 0 end)
        as pt2_compile_recovery_us,
    max(case when area = 'checkpoint_load' then recovery_us else 0 end)
        as checkpoint_load_recovery_us,
    -- of which before the first batch
    max(case when area = 'scheduling' then startup_us else 0 end) as scheduling_startup_us,
    max(case when area = 'hardware_setup' then startup_us else 0 end) as hardware_setup_startup_us,
    max(case when area = 'launcher_init' then startup_us else 0 end) as launcher_init_startup_us,
    max(case when area = 'trainer_init' then startup_us else 0 end) as trainer_init_startup_us,
    max(case when area = 'pt2_compile' then startup_us else 0 end) as pt2_compile_startup_us,
    max(case when area = 'checkpoint_load' then startup_us else 0 end) as checkpoint_load_startup_us
from summed
group by attempt_no, day
