-- The hundred jobs of one scope that lost most to one area, or to `all`, in the days that a reader
-- chooses: of an attempt that crosses their borders, or still runs, what lies within.
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
    from window_attempts(chosen_team, chosen_workload, first_day, last_day)
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
        sum(wall_seconds * gpus) as gpu_seconds,
        sum(effective_seconds * gpus) as effective_gpu_seconds,
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
    from window_attempts(chosen_team, chosen_workload, first_day, last_day)
    where job_id in (select worst.job_id from worst)
    group by job_id

),

charged as (

    unpivot told
    on columns(* exclude (job_id, team, gpus, attempts, gpu_seconds, effective_gpu_seconds))
    into name area value area_gpu_seconds

),

causes as (

    select
        job_id,
        arg_max(area, area_gpu_seconds) as largest_area,
        max(area_gpu_seconds) as largest_gpu_seconds
    from charged
    group by job_id

)

select
    worst.job_id,
    told.team,
    told.gpus,
    told.attempts,
    told.effective_gpu_seconds / nullif(told.gpu_seconds, 0) as ett_gpu_ratio,
    worst.lost_gpu_seconds,
    causes.largest_area,
    causes.largest_gpu_seconds
from worst
inner join told on worst.job_id = told.job_id
left join causes on worst.job_id = causes.job_id
