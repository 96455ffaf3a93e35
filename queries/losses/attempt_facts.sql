-- All that is known of each attempt, in microseconds; null where it cannot be known.
-- grain: one row per job_no, attempt
with

windows as (

    select
        *,
        -- one that still runs has no part in a day that begins with its last word
        case when outcome = 'running' then greatest(started_us, ended_us - 1) else ended_us end
            as last_us
    from attempt_windows

),

saved as (

    select
        attempt_no,
        cast(sum(case when status = 'good' then 1 else 0 end) as bigint) as checkpoint_saves
    from checkpoint_saves
    group by attempt_no

)

select
    windows.job_no,
    windows.job_no % 4294967296 as base_job_no,
    windows.attempt,
    -- who; names that the rollups use themselves are told apart, so are those that look like that,
    -- and an empty one, which neither a label nor an address can hold, is none
    case
        when coalesce(attributes.team, '') = '' then '(none)'
        when replace(attributes.team, ' (team)', '') in ('fleet', 'other')
            then concat(attributes.team, ' (team)')
        else attributes.team
    end as team,
    case
        when coalesce(attributes.workload, '') = '' then '(none)'
        when replace(attributes.workload, ' (workload)', '') = 'all'
            then concat(attributes.workload, ' (workload)')
        else attributes.workload
    end as workload,
    attributes.user_name,
    attributes.model,
    attributes.cluster,
    attributes.gpu_type,
    attributes.priority,
    attributes.job_name,
    attributes.partition_name,
    gpus.gpus,
    windows.allocation_id,
    -- times
    windows.started_us,
    waits.allocated_us,
    case when instrumentation.is_instrumented then first_batches.first_batch_us end
        as first_batch_us,
    windows.ended_us,
    windows.window_end_us - windows.started_us as wall_us,
    windows.suspended_us,
    -- the days they belong to
    started_days.day as started_day,
    case when instrumentation.is_instrumented then first_batch_days.day end as first_batch_day,
    ended_days.day as ended_day,
    -- waits
    waits.queue_us,
    case when instrumentation.is_instrumented then waits.tts_us end as tts_us,
    case when instrumentation.is_instrumented then waits.ttr_us end as ttr_us,
    case when instrumentation.is_instrumented then waits.ttr_without_queue_us end
        as ttr_without_queue_us,
    case when instrumentation.is_instrumented then waits.interrupted_us end as interrupted_us,
    -- how it ended
    windows.outcome,
    causes.category,
    causes.rule as cause_rule,
    causes.evidence as cause_evidence,
    causes.evidence_line as cause_evidence_line,
    causes.evidence_file_no as cause_evidence_file_no,
    ends.message,
    ends.exit_code,
    -- flags
    instrumentation.is_instrumented,
    coalesce(excluded.job_no is not null, false) as is_excluded,
    -- compiles and saves
    coalesce(saved.checkpoint_saves, 0) as checkpoint_saves,
    compiles.cache,
    compiles.recompiles,
    -- outside every ratio and rollup: no GPUs, or left out by the settings
    coalesce(gpus.gpus <> 0, true) and excluded.job_no is null as is_counted,
    -- what its interruption cost; of unknown GPUs unknown, though it cost no time, and so where no
    -- source can say what it did
    coalesce(losses.lost_us, 0) as lost_us,
    case
        when losses.job_no is not null then losses.lost_gpu_us
        when instrumentation.is_instrumented then gpus.gpus * 0
    end as lost_gpu_us,
    coalesce(losses.caused_recovery_us, 0) as caused_recovery_us,
    case
        when losses.job_no is not null then losses.caused_recovery_gpu_us
        when instrumentation.is_instrumented then gpus.gpus * 0
    end as caused_recovery_gpu_us,
    -- seconds by area
    coalesce(areas.scheduling_us, 0) as scheduling_us,
    coalesce(areas.hardware_setup_us, 0) as hardware_setup_us,
    coalesce(areas.launcher_init_us, 0) as launcher_init_us,
    coalesce(areas.trainer_init_us, 0) as trainer_init_us,
    coalesce(areas.pt2_compile_us, 0) as pt2_compile_us,
    coalesce(areas.checkpoint_load_us, 0) as checkpoint_load_us,
    coalesce(areas.effective_us, 0) as effective_us,
    coalesce(areas.unsaved_us, 0) as unsaved_us,
    coalesce(areas.hang_us, 0) as hang_us,
    coalesce(areas.checkpoint_save_us, 0) as checkpoint_save_us,
    coalesce(areas.evaluation_us, 0) as evaluation_us,
    coalesce(areas.data_wait_us, 0) as data_wait_us,
    coalesce(areas.shutdown_us, 0) as shutdown_us,
    coalesce(areas.unaccounted_us, 0) as unaccounted_us,
    coalesce(areas.uninstrumented_us, 0) as uninstrumented_us,
    coalesce(areas.scheduling_recovery_us, 0) as scheduling_recovery_us,
    coalesce(areas.hardware_setup_recovery_us, 0) as hardware_setup_recovery_us,
    coalesce(areas.launcher_init_recovery_us, 0) as launcher_init_recovery_us,
    coalesce(areas.trainer_init_recovery_us, 0) as trainer_init_recovery_us,
    coalesce(areas.pt2_compile_recovery_us, 0) as pt2_compile_recovery_us,
    coalesce(areas.checkpoint_load_recovery_us, 0) as checkpoint_load_recovery_us,
    coalesce(areas.scheduling_startup_us, 0) as scheduling_startup_us,
    coalesce(areas.hardware_setup_startup_us, 0) as hardware_setup_startup_us,
    coalesce(areas.launcher_init_startup_us, 0) as launcher_init_startup_us,
    coalesce(areas.trainer_init_startup_us, 0) as trainer_init_startup_us,
    coalesce(areas.pt2_compile_startup_us, 0) as pt2_compile_startup_us,
    coalesce(areas.checkpoint_load_startup_us, 0) as checkpoint_load_startup_us
from windows
inner join job_instrumentation as instrumentation on windows.job_no = instrumentation.job_no
inner join attempt_gpus as gpus
    on
        windows.job_no = gpus.job_no
        and windows.attempt = gpus.attempt
inner join attempt_waits as waits on windows.attempt_no = waits.attempt_no
inner join calendar_pieces as started_days
    on
        started_days.utc_day = windows.started_us // 86400000000
        and windows.started_us >= started_days.from_us
        and windows.started_us < started_days.to_us
inner join calendar_pieces as ended_days
    on
        ended_days.utc_day = windows.last_us // 86400000000
        and windows.last_us >= ended_days.from_us
        and windows.last_us < ended_days.to_us
left join first_batches on windows.attempt_no = first_batches.attempt_no
left join calendar_pieces as first_batch_days
    on
        first_batch_days.utc_day = first_batches.first_batch_us // 86400000000
        and first_batches.first_batch_us >= first_batch_days.from_us
        and first_batches.first_batch_us < first_batch_days.to_us
left join attempt_causes as causes
    on
        windows.job_no = causes.job_no
        and windows.attempt = causes.attempt
left join attempt_ends as ends
    on
        windows.job_no = ends.job_no
        and windows.attempt = ends.attempt
left join saved on windows.attempt_no = saved.attempt_no
left join attempt_compiles as compiles
    on
        windows.job_no = compiles.job_no
        and windows.attempt = compiles.attempt
left join interruption_losses as losses
    on
        windows.job_no = losses.job_no
        and windows.attempt = losses.attempt
left join excluded_jobs as excluded on windows.job_no = excluded.job_no
left join job_attributes as attributes on windows.job_no = attributes.job_no
left join attempt_areas as areas on windows.attempt_no = areas.attempt_no
