-- The microseconds of each attempt on each day by area, of attempts that crossed a midnight: all
-- that another one spent stands in `attempts`, on one day. Counted and instrumented ones only.
-- grain: one row per job_id, attempt, day
-- changes by: job_id
select
    names.job_id,
    days.attempt,
    days.day,
    days.team,
    days.workload,
    days.gpus,
    cast(days.wall_us as bigint) as wall_us,
    cast(days.scheduling_us as bigint) as scheduling_us,
    cast(days.hardware_setup_us as bigint) as hardware_setup_us,
    cast(days.launcher_init_us as bigint) as launcher_init_us,
    cast(days.trainer_init_us as bigint) as trainer_init_us,
    cast(days.pt2_compile_us as bigint) as pt2_compile_us,
    cast(days.checkpoint_load_us as bigint) as checkpoint_load_us,
    cast(days.effective_us as bigint) as effective_us,
    cast(days.unsaved_us as bigint) as unsaved_us,
    cast(days.hang_us as bigint) as hang_us,
    cast(days.checkpoint_save_us as bigint) as checkpoint_save_us,
    cast(days.evaluation_us as bigint) as evaluation_us,
    cast(days.data_wait_us as bigint) as data_wait_us,
    cast(days.shutdown_us as bigint) as shutdown_us,
    cast(days.unaccounted_us as bigint) as unaccounted_us
from warehouse.attempt_day_facts_kept as days
inner join publishing_names as names on days.job_no = names.job_no
inner join warehouse.attempt_facts_kept as facts
    on
        days.job_no = facts.job_no
        and days.attempt = facts.attempt
where
    facts.is_counted
    and facts.is_instrumented
    and facts.started_day <> facts.ended_day
order by days.day asc, names.job_id asc, days.attempt asc
