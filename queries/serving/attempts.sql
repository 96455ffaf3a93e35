-- Every attempt: when, how it ended, what it waited for, and where its seconds went.
-- grain: one row per job_id, attempt
-- changes by: job_id
with

suspended as (

    -- apart: few are
    select
        kept.job_no,
        kept.attempt,
        calendar.day as wall_ended_day
    from warehouse.attempt_facts_kept as kept
    inner join calendar
        on
            kept.started_us + kept.wall_us > calendar.from_us
            and kept.started_us + kept.wall_us <= calendar.to_us
    where
        kept.suspended_us > 0
        and kept.wall_us > 0

)

select
    names.job_id,
    facts.attempt,
    -- who
    facts.team,
    facts.workload,
    facts.cluster,
    facts.user_name,
    facts.model,
    facts.priority,
    facts.job_name,
    facts.partition_name as "partition",  -- noqa: RF06
    facts.gpus,
    facts.gpu_type,
    facts.allocation_id,
    -- flags
    facts.is_instrumented,
    facts.is_excluded,
    facts.is_counted,
    facts.outcome = 'running' as is_open,
    facts.outcome in ('failed', 'preempted', 'timeout', 'lost') as is_interruption,
    -- times
    make_timestamp(facts.started_us) as started_at,
    make_timestamp(facts.allocated_us) as allocated_at,
    make_timestamp(facts.first_batch_us) as first_batch_at,
    make_timestamp(facts.ended_us) as ended_at,
    make_timestamp(facts.interrupted_us) as interrupted_at,
    facts.started_day,
    facts.first_batch_day,
    facts.ended_day,
    -- the last day that it spent wall time on, or its end: earlier than that only where suspended
    case when facts.suspended_us > 0 then suspended.wall_ended_day else facts.ended_day end
        as wall_ended_day,
    -- how it ended
    facts.outcome,
    split_part(facts.category, '/', 1) as failure_domain,
    split_part(facts.category, '/', 2) as failure_category,
    case when facts.category is not null then coalesce(attributions.attribution, 'unknown') end
        as attribution,
    facts.cause_rule as failure_rule,
    facts.cause_evidence as failure_evidence,
    evidence_files.file as failure_evidence_file,
    facts.cause_evidence_line as failure_evidence_line,
    facts.message,
    facts.exit_code,
    -- seconds
    facts.wall_us / 1e6 as wall_seconds,
    facts.suspended_us / 1e6 as suspended_seconds,
    facts.queue_us / 1e6 as queue_seconds,
    facts.tts_us / 1e6 as tts_seconds,
    facts.ttr_us / 1e6 as ttr_seconds,
    facts.ttr_without_queue_us / 1e6 as ttr_without_queue_seconds,
    -- null: its sources cannot say what it did
    case when facts.is_instrumented then facts.scheduling_us end / 1e6 as scheduling_seconds,
    case when facts.is_instrumented then facts.hardware_setup_us end
    / 1e6 as hardware_setup_seconds,
    case when facts.is_instrumented then facts.launcher_init_us end / 1e6 as launcher_init_seconds,
    case when facts.is_instrumented then facts.trainer_init_us end / 1e6 as trainer_init_seconds,
    case when facts.is_instrumented then facts.pt2_compile_us end / 1e6 as pt2_compile_seconds,
    case when facts.is_instrumented then facts.checkpoint_load_us end
    / 1e6 as checkpoint_load_seconds,
    case when facts.is_instrumented then facts.effective_us end / 1e6 as effective_seconds,
    case when facts.is_instrumented then facts.unsaved_us end / 1e6 as unsaved_seconds,
    case when facts.is_instrumented then facts.hang_us end / 1e6 as hang_seconds,
    case when facts.is_instrumented then facts.checkpoint_save_us end
    / 1e6 as checkpoint_save_seconds,
    case when facts.is_instrumented then facts.evaluation_us end / 1e6 as evaluation_seconds,
    case when facts.is_instrumented then facts.data_wait_us end / 1e6 as data_wait_seconds,
    case when facts.is_instrumented then facts.shutdown_us end / 1e6 as shutdown_seconds,
    case when facts.is_instrumented then facts.unaccounted_us end / 1e6 as unaccounted_seconds,
    facts.uninstrumented_us / 1e6 as uninstrumented_seconds,
    case
        when facts.is_instrumented
            then
                facts.scheduling_recovery_us
                + facts.hardware_setup_recovery_us
                + facts.launcher_init_recovery_us
                + facts.trainer_init_recovery_us
                + facts.pt2_compile_recovery_us
                + facts.checkpoint_load_recovery_us
    end / 1e6 as recovery_seconds,
    -- saves and compiles
    case when facts.is_instrumented then facts.checkpoint_saves end as checkpoint_saves,
    facts.recompiles,
    facts.cache,
    -- what its interruption cost
    case
        when facts.is_instrumented then facts.lost_gpu_us + facts.caused_recovery_gpu_us
    end / 1e6 as lost_gpu_seconds,
    -- exact, for what is computed over windows
    facts.tts_us,
    facts.ttr_us,
    facts.scheduling_recovery_us,
    facts.hardware_setup_recovery_us,
    facts.launcher_init_recovery_us,
    facts.trainer_init_recovery_us,
    facts.pt2_compile_recovery_us,
    facts.checkpoint_load_recovery_us,
    -- before the first batch; of what was pruned under an earlier release, the whole attempt
    coalesce(facts.scheduling_startup_us, facts.scheduling_us) as scheduling_startup_us,
    coalesce(facts.hardware_setup_startup_us, facts.hardware_setup_us) as hardware_setup_startup_us,
    coalesce(facts.launcher_init_startup_us, facts.launcher_init_us) as launcher_init_startup_us,
    coalesce(facts.trainer_init_startup_us, facts.trainer_init_us) as trainer_init_startup_us,
    coalesce(facts.pt2_compile_startup_us, facts.pt2_compile_us) as pt2_compile_startup_us,
    coalesce(facts.checkpoint_load_startup_us, facts.checkpoint_load_us)
        as checkpoint_load_startup_us
from warehouse.attempt_facts_kept as facts
inner join publishing_names as names on facts.job_no = names.job_no
left join warehouse.files as evidence_files
    on facts.cause_evidence_file_no = evidence_files.file_no
left join category_attributions as attributions
    on facts.category = attributions.category
left join suspended
    on
        facts.job_no = suspended.job_no
        and facts.attempt = suspended.attempt
order by facts.ended_us asc, names.job_id asc, facts.attempt asc
