-- What each team (`fleet`: all of them) lost to each area over the days that a reader chooses, as a
-- share of what it held. Null in GPU-seconds: of nothing that is instrumented the GPUs are known.
-- grain: one row per team, area
-- macro: chosen_workload, first_day, last_day
with

charged as (

    unpivot (
        select
            team,
            sum(wall_us - uninstrumented_us) as instrumented_us,
            sum(gpu_us - uninstrumented_gpu_us) as instrumented_gpu_us,
            sum(gpu_us - uninstrumented_gpu_us - effective_gpu_us) as lost_gpu_us,
            {
                'us': sum(scheduling_us),
                'gpu_us': sum(scheduling_gpu_us)
            } as scheduling,
            {
                'us': sum(hardware_setup_us),
                'gpu_us': sum(hardware_setup_gpu_us)
            } as hardware_setup,
            {
                'us': sum(launcher_init_us),
                'gpu_us': sum(launcher_init_gpu_us)
            } as launcher_init,
            {
                'us': sum(trainer_init_us),
                'gpu_us': sum(trainer_init_gpu_us)
            } as trainer_init,
            {
                'us': sum(pt2_compile_us),
                'gpu_us': sum(pt2_compile_gpu_us)
            } as pt2_compile,
            {
                'us': sum(checkpoint_load_us),
                'gpu_us': sum(checkpoint_load_gpu_us)
            } as checkpoint_load,
            {
                'us': sum(unsaved_us),
                'gpu_us': sum(unsaved_gpu_us)
            } as unsaved,
            {
                'us': sum(hang_us),
                'gpu_us': sum(hang_gpu_us)
            } as hang,
            {
                'us': sum(checkpoint_save_us),
                'gpu_us': sum(checkpoint_save_gpu_us)
            } as checkpoint_save,
            {
                'us': sum(evaluation_us),
                'gpu_us': sum(evaluation_gpu_us)
            } as evaluation,
            {
                'us': sum(data_wait_us),
                'gpu_us': sum(data_wait_gpu_us)
            } as data_wait,
            {
                'us': sum(shutdown_us),
                'gpu_us': sum(shutdown_gpu_us)
            } as shutdown,
            {
                'us': sum(unaccounted_us),
                'gpu_us': sum(unaccounted_gpu_us)
            } as unaccounted
        from team_day_totals
        where
            workload = chosen_workload
            and day between first_day and last_day
        group by team
    )
    on columns(* exclude (team, instrumented_us, instrumented_gpu_us, lost_gpu_us))
    into name area value charged

)

select
    team,
    area,
    charged.us / 1e6 as seconds,
    case when instrumented_gpu_us > 0 then charged.gpu_us end / 1e6 as gpu_seconds,
    charged.us / instrumented_us as share_ratio,
    charged.gpu_us / nullif(instrumented_gpu_us, 0) as share_gpu_ratio,
    case when instrumented_gpu_us > 0 then lost_gpu_us end / 1e6 as team_lost_gpu_seconds
from charged
where instrumented_us > 0
