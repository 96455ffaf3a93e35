-- Everything of one kind of work per team and day: workload, model and GPUs make a cell of the job
-- mix that a change of ETT is split over.
-- grain: one row per team, workload, model, gpus, day
-- changes by: day
select
    days.team,
    days.workload,
    facts.model,
    days.gpus,
    days.day,
    cast(sum(days.wall_us) as bigint) as wall_us,
    cast(sum(days.scheduling_us) as bigint) as scheduling_us,
    cast(sum(days.hardware_setup_us) as bigint) as hardware_setup_us,
    cast(sum(days.launcher_init_us) as bigint) as launcher_init_us,
    cast(sum(days.trainer_init_us) as bigint) as trainer_init_us,
    cast(sum(days.pt2_compile_us) as bigint) as pt2_compile_us,
    cast(sum(days.checkpoint_load_us) as bigint) as checkpoint_load_us,
    cast(sum(days.effective_us) as bigint) as effective_us,
    cast(sum(days.unsaved_us) as bigint) as unsaved_us,
    cast(sum(days.hang_us) as bigint) as hang_us,
    cast(sum(days.checkpoint_save_us) as bigint) as checkpoint_save_us,
    cast(sum(days.evaluation_us) as bigint) as evaluation_us,
    cast(sum(days.data_wait_us) as bigint) as data_wait_us,
    cast(sum(days.shutdown_us) as bigint) as shutdown_us,
    cast(sum(days.unaccounted_us) as bigint) as unaccounted_us,
    cast(sum(days.uninstrumented_us) as bigint) as uninstrumented_us
from warehouse.attempt_day_facts_kept as days
inner join warehouse.attempt_facts_kept as facts
    on
        days.job_no = facts.job_no
        and days.attempt = facts.attempt
where
    days.is_counted
    and days.day in (select chosen.day from publishing_days as chosen)
group by days.team, days.workload, facts.model, days.gpus, days.day
order by days.day asc, days.team asc, days.workload asc, facts.model asc, days.gpus asc
