-- The hundred jobs of one scope whose attempts that ended in the days that a reader chooses lost
-- most to one area, or to `all`: each attempt counts whole.
-- grain: one row per job_id
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_area
with

lost as (

    -- no more than ranks them: there are many jobs
    select
        job_id,
        sum(gpus * case chosen_area
            when 'all' then wall_seconds - effective_seconds
            when 'scheduling' then scheduling_seconds
            when 'hardware_setup' then hardware_setup_seconds
            when 'launcher_init' then launcher_init_seconds
            when 'trainer_init' then trainer_init_seconds
            when 'pt2_compile' then pt2_compile_seconds
            when 'checkpoint_load' then checkpoint_load_seconds
            when 'unsaved' then unsaved_seconds
            when 'hang' then hang_seconds
            when 'checkpoint_save' then checkpoint_save_seconds
            when 'evaluation' then evaluation_seconds
            when 'data_wait' then data_wait_seconds
            when 'shutdown' then shutdown_seconds
            when 'unaccounted' then unaccounted_seconds
        end) as lost_gpu_seconds
    from attempts
    where
        is_counted
        and is_instrumented
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and ended_day between first_day and last_day
    group by job_id

),

worst as (

    select *
    from lost
    where lost_gpu_seconds > 0
    order by lost_gpu_seconds desc, job_id asc
    limit 100

),

told as (

    select
        job_id,
        any_value(team) as team,
        arg_max(gpus, attempt) as gpus,
        count(*) as attempts,
        sum(wall_seconds) as wall_seconds,
        sum(effective_seconds) as effective_seconds,
        sum(scheduling_seconds * gpus) as scheduling,
        sum(hardware_setup_seconds * gpus) as hardware_setup,
        sum(launcher_init_seconds * gpus) as launcher_init,
        sum(trainer_init_seconds * gpus) as trainer_init,
        sum(pt2_compile_seconds * gpus) as pt2_compile,
        sum(checkpoint_load_seconds * gpus) as checkpoint_load,
        sum(unsaved_seconds * gpus) as unsaved,
        sum(hang_seconds * gpus) as hang,
        sum(checkpoint_save_seconds * gpus) as checkpoint_save,
        sum(evaluation_seconds * gpus) as evaluation,
        sum(data_wait_seconds * gpus) as data_wait,
        sum(shutdown_seconds * gpus) as shutdown,
        sum(unaccounted_seconds * gpus) as unaccounted
    from attempts
    where
        job_id in (select worst.job_id from worst)
        and is_counted
        and is_instrumented
        and ended_day between first_day and last_day
    group by job_id

),

charged as (

    unpivot told
    on columns(* exclude (job_id, team, gpus, attempts, wall_seconds, effective_seconds))
    into name area value gpu_seconds

),

causes as (

    select
        job_id,
        arg_max(area, gpu_seconds) as largest_area,
        max(gpu_seconds) as largest_gpu_seconds
    from charged
    group by job_id

)

select
    worst.job_id,
    told.team,
    told.gpus,
    told.attempts,
    told.effective_seconds / nullif(told.wall_seconds, 0) as ett_ratio,
    worst.lost_gpu_seconds,
    causes.largest_area,
    causes.largest_gpu_seconds
from worst
inner join told on worst.job_id = told.job_id
left join causes on worst.job_id = causes.job_id
