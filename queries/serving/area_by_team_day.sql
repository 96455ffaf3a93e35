-- Where the seconds of each scope went, by day. GPU-seconds of all but what is uninstrumented are
-- null where of nothing that is instrumented the GPUs are known.
-- grain: one row per team, workload, day, area, is_recovery
-- stored: no
with

long as (

    unpivot (
        select
            team,
            workload,
            day,
            gpu_us > uninstrumented_gpu_us as is_weighed,
            {
                'us': scheduling_us - scheduling_recovery_us,
                'gpu_us': scheduling_gpu_us - scheduling_recovery_gpu_us
            } as scheduling,
            {
                'us': hardware_setup_us - hardware_setup_recovery_us,
                'gpu_us': hardware_setup_gpu_us - hardware_setup_recovery_gpu_us
            } as hardware_setup,
            {
                'us': launcher_init_us - launcher_init_recovery_us,
                'gpu_us': launcher_init_gpu_us - launcher_init_recovery_gpu_us
            } as launcher_init,
            {
                'us': trainer_init_us - trainer_init_recovery_us,
                'gpu_us': trainer_init_gpu_us - trainer_init_recovery_gpu_us
            } as trainer_init,
            {
                'us': pt2_compile_us - pt2_compile_recovery_us,
                'gpu_us': pt2_compile_gpu_us - pt2_compile_recovery_gpu_us
            } as pt2_compile,
            {
                'us': checkpoint_load_us - checkpoint_load_recovery_us,
                'gpu_us': checkpoint_load_gpu_us - checkpoint_load_recovery_gpu_us
            } as checkpoint_load,
            { 'us': effective_us, 'gpu_us': effective_gpu_us } as effective,
            { 'us': unsaved_us, 'gpu_us': unsaved_gpu_us } as unsaved,
            { 'us': hang_us, 'gpu_us': hang_gpu_us } as hang,
            { 'us': checkpoint_save_us, 'gpu_us': checkpoint_save_gpu_us } as checkpoint_save,
            { 'us': evaluation_us, 'gpu_us': evaluation_gpu_us } as evaluation,
            { 'us': data_wait_us, 'gpu_us': data_wait_gpu_us } as data_wait,
            { 'us': shutdown_us, 'gpu_us': shutdown_gpu_us } as shutdown,
            { 'us': unaccounted_us, 'gpu_us': unaccounted_gpu_us } as unaccounted,
            { 'us': uninstrumented_us, 'gpu_us': uninstrumented_gpu_us } as uninstrumented,
            { 'us': scheduling_recovery_us, 'gpu_us': scheduling_recovery_gpu_us }
                as scheduling_recovery,
            { 'us': hardware_setup_recovery_us, 'gpu_us': hardware_setup_recovery_gpu_us }
                as hardware_setup_recovery,
            { 'us': launcher_init_recovery_us, 'gpu_us': launcher_init_recovery_gpu_us }
                as launcher_init_recovery,
            { 'us': trainer_init_recovery_us, 'gpu_us': trainer_init_recovery_gpu_us }
                as trainer_init_recovery,
            { 'us': pt2_compile_recovery_us, 'gpu_us': pt2_compile_recovery_gpu_us }
                as pt2_compile_recovery,
            { 'us': checkpoint_load_recovery_us, 'gpu_us': checkpoint_load_recovery_gpu_us }
                as checkpoint_load_recovery
        from team_day_totals
    )
    on columns(* exclude (team, workload, day, is_weighed))
    into name area value charged

)

select
    team,
    workload,
    day,
    replace(area, '_recovery', '') as area,
    suffix(area, '_recovery') as is_recovery,
    charged.us / 1e6 as seconds,
    case when is_weighed or area = 'uninstrumented' then charged.gpu_us end / 1e6 as gpu_seconds
from long
where charged.us > 0
