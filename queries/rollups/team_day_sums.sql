-- Everything that adds up, per team, workload and day, in microseconds and GPU-microseconds.
-- grain: one row per team, workload, day
with

charged as (

    select
        days.team,
        days.workload,
        days.day,
        sum(days.wall_us) as wall_us,
        sum(days.wall_us * days.gpus) as gpu_us,
        sum(days.scheduling_us) as scheduling_us,
        sum(days.hardware_setup_us) as hardware_setup_us,
        sum(days.launcher_init_us) as launcher_init_us,
        sum(days.trainer_init_us) as trainer_init_us,
        sum(days.pt2_compile_us) as pt2_compile_us,
        sum(days.checkpoint_load_us) as checkpoint_load_us,
        sum(days.effective_us) as effective_us,
        sum(days.unsaved_us) as unsaved_us,
        sum(days.hang_us) as hang_us,
        sum(days.checkpoint_save_us) as checkpoint_save_us,
        sum(days.evaluation_us) as evaluation_us,
        sum(days.data_wait_us) as data_wait_us,
        sum(days.shutdown_us) as shutdown_us,
        sum(days.unaccounted_us) as unaccounted_us,
        sum(days.uninstrumented_us) as uninstrumented_us,
        sum(days.scheduling_recovery_us) as scheduling_recovery_us,
        sum(days.hardware_setup_recovery_us) as hardware_setup_recovery_us,
        sum(days.launcher_init_recovery_us) as launcher_init_recovery_us,
        sum(days.trainer_init_recovery_us) as trainer_init_recovery_us,
        sum(days.pt2_compile_recovery_us) as pt2_compile_recovery_us,
        sum(days.checkpoint_load_recovery_us) as checkpoint_load_recovery_us,
        sum(days.scheduling_us * days.gpus) as scheduling_gpu_us,
        sum(days.hardware_setup_us * days.gpus) as hardware_setup_gpu_us,
        sum(days.launcher_init_us * days.gpus) as launcher_init_gpu_us,
        sum(days.trainer_init_us * days.gpus) as trainer_init_gpu_us,
        sum(days.pt2_compile_us * days.gpus) as pt2_compile_gpu_us,
        sum(days.checkpoint_load_us * days.gpus) as checkpoint_load_gpu_us,
        sum(days.effective_us * days.gpus) as effective_gpu_us,
        sum(days.unsaved_us * days.gpus) as unsaved_gpu_us,
        sum(days.hang_us * days.gpus) as hang_gpu_us,
        sum(days.checkpoint_save_us * days.gpus) as checkpoint_save_gpu_us,
        sum(days.evaluation_us * days.gpus) as evaluation_gpu_us,
        sum(days.data_wait_us * days.gpus) as data_wait_gpu_us,
        sum(days.shutdown_us * days.gpus) as shutdown_gpu_us,
        sum(days.unaccounted_us * days.gpus) as unaccounted_gpu_us,
        sum(days.uninstrumented_us * days.gpus) as uninstrumented_gpu_us,
        sum(days.scheduling_recovery_us * days.gpus) as scheduling_recovery_gpu_us,
        sum(days.hardware_setup_recovery_us * days.gpus) as hardware_setup_recovery_gpu_us,
        sum(days.launcher_init_recovery_us * days.gpus) as launcher_init_recovery_gpu_us,
        sum(days.trainer_init_recovery_us * days.gpus) as trainer_init_recovery_gpu_us,
        sum(days.pt2_compile_recovery_us * days.gpus) as pt2_compile_recovery_gpu_us,
        sum(days.checkpoint_load_recovery_us * days.gpus) as checkpoint_load_recovery_gpu_us
    from attempt_day_facts_kept as days
    inner join touched_days as touched on days.day = touched.day
    where days.is_counted
    group by days.team, days.workload, days.day

),

ended as (

    select
        facts.team,
        facts.workload,
        facts.ended_day as day,
        count(*) as attempts_ended,
        sum(case when facts.outcome = 'completed' then 1 else 0 end) as completed,
        sum(case when facts.outcome = 'failed' then 1 else 0 end) as failed,
        sum(case when facts.outcome = 'preempted' then 1 else 0 end) as preempted,
        sum(case when facts.outcome = 'cancelled' then 1 else 0 end) as cancelled,
        sum(case when facts.outcome = 'timeout' then 1 else 0 end) as timeout,
        sum(case when facts.outcome = 'lost' then 1 else 0 end) as lost,
        sum(case
            when
                facts.outcome in ('failed', 'timeout', 'lost')
                and attributions.attribution = 'infra'
                then 1
            else 0
        end) as infra_failures,
        -- what can be held against GPU-hours, which those of unknown GPUs have no part in
        sum(case
            when facts.outcome in ('failed', 'timeout', 'lost') and facts.gpus is not null then 1
            else 0
        end) as gpu_failures,
        sum(case
            when
                facts.outcome in ('failed', 'timeout', 'lost')
                and facts.gpus is not null
                and attributions.attribution = 'infra'
                then 1
            else 0
        end) as infra_gpu_failures,
        sum(case when attributions.attribution = 'infra' then 1 else 0 end)
            as infra_interruptions,
        -- what a cancelled attempt lost was no interruption's
        sum(facts.lost_us + facts.caused_recovery_us) filter (where facts.outcome <> 'cancelled')
            as interruption_loss_us,
        sum(facts.lost_gpu_us + facts.caused_recovery_gpu_us)
        filter (where facts.outcome <> 'cancelled')
            as interruption_loss_gpu_us
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.ended_day = touched.day
    left join category_attributions as attributions on facts.category = attributions.category
    where
        facts.is_counted
        and facts.outcome <> 'running'
    group by facts.team, facts.workload, facts.ended_day

),

present as (

    select
        days.team,
        days.workload,
        days.day,
        days.job_no,
        days.attempt,
        days.gpus,
        0 as is_preempted,
        case when days.wall_us > days.uninstrumented_us then 1 else 0 end as is_instrumented
    from attempt_day_facts_kept as days
    inner join touched_days as touched on days.day = touched.day
    where days.is_counted

    union all

    select
        facts.team,
        facts.workload,
        facts.ended_day as day,
        facts.job_no,
        facts.attempt,
        facts.gpus,
        case when facts.outcome = 'preempted' then 1 else 0 end as is_preempted,
        case when facts.is_instrumented then 1 else 0 end as is_instrumented
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.ended_day = touched.day
    where facts.is_counted

),

present_jobs as (

    select
        team,
        workload,
        day,
        job_no,
        count(distinct attempt) as attempts,
        max(is_preempted) as is_preempted,
        max(is_instrumented) as is_instrumented
    from present
    group by team, workload, day, job_no

),

running as (

    select
        team,
        workload,
        day,
        count(*) as jobs_running,
        cast(sum(attempts) as bigint) as attempts_running,
        sum(is_preempted) as jobs_preempted,
        max(is_instrumented) as is_instrumented
    from present_jobs
    group by team, workload, day

),

begun as (

    select
        facts.team,
        facts.workload,
        facts.started_day as day,
        sum(facts.queue_us) as queue_us,
        sum(facts.queue_us * facts.gpus) as queue_gpu_us,
        sum(case when facts.cache = 'hit' then 1 else 0 end) as cache_hits,
        sum(case when facts.cache = 'miss' then 1 else 0 end) as cache_misses,
        sum(facts.recompiles) as recompiles
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.started_day = touched.day
    where facts.is_counted
    group by facts.team, facts.workload, facts.started_day

),

weighed as (

    -- the GPUs of some attempt are known: what it spent nothing on took 0 GPU-seconds, not unknown
    select
        team,
        workload,
        day,
        0 as none_us
    from present
    where gpus is not null

    union distinct

    -- one that was suspended all of its first day has no wall time there
    select
        facts.team,
        facts.workload,
        facts.started_day as day,
        0 as none_us
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.started_day = touched.day
    where
        facts.is_counted
        and facts.gpus is not null

),

saved as (

    select
        saves.team,
        saves.workload,
        saves.day,
        count(*) as checkpoint_saves
    from save_facts_kept as saves
    inner join touched_days as touched on saves.day = touched.day
    where
        saves.is_counted
        and saves.is_instrumented
        and saves.status = 'good'
    group by saves.team, saves.workload, saves.day

),

keys as (

    select
        team,
        workload,
        day
    from charged
    union
    select
        team,
        workload,
        day
    from ended
    union
    select
        team,
        workload,
        day
    from begun
    union
    select
        team,
        workload,
        day
    from saved

)

select
    keys.team,
    keys.workload,
    keys.day,
    -- seconds; those of GPUs null where no GPUs are known
    coalesce(charged.wall_us, 0) as wall_us,
    coalesce(charged.gpu_us, weighed.none_us) as gpu_us,
    coalesce(charged.scheduling_us, 0) as scheduling_us,
    coalesce(charged.hardware_setup_us, 0) as hardware_setup_us,
    coalesce(charged.launcher_init_us, 0) as launcher_init_us,
    coalesce(charged.trainer_init_us, 0) as trainer_init_us,
    coalesce(charged.pt2_compile_us, 0) as pt2_compile_us,
    coalesce(charged.checkpoint_load_us, 0) as checkpoint_load_us,
    coalesce(charged.effective_us, 0) as effective_us,
    coalesce(charged.unsaved_us, 0) as unsaved_us,
    coalesce(charged.hang_us, 0) as hang_us,
    coalesce(charged.checkpoint_save_us, 0) as checkpoint_save_us,
    coalesce(charged.evaluation_us, 0) as evaluation_us,
    coalesce(charged.data_wait_us, 0) as data_wait_us,
    coalesce(charged.shutdown_us, 0) as shutdown_us,
    coalesce(charged.unaccounted_us, 0) as unaccounted_us,
    coalesce(charged.uninstrumented_us, 0) as uninstrumented_us,
    coalesce(charged.scheduling_recovery_us, 0) as scheduling_recovery_us,
    coalesce(charged.hardware_setup_recovery_us, 0) as hardware_setup_recovery_us,
    coalesce(charged.launcher_init_recovery_us, 0) as launcher_init_recovery_us,
    coalesce(charged.trainer_init_recovery_us, 0) as trainer_init_recovery_us,
    coalesce(charged.pt2_compile_recovery_us, 0) as pt2_compile_recovery_us,
    coalesce(charged.checkpoint_load_recovery_us, 0) as checkpoint_load_recovery_us,
    coalesce(charged.scheduling_gpu_us, weighed.none_us) as scheduling_gpu_us,
    coalesce(charged.hardware_setup_gpu_us, weighed.none_us) as hardware_setup_gpu_us,
    coalesce(charged.launcher_init_gpu_us, weighed.none_us) as launcher_init_gpu_us,
    coalesce(charged.trainer_init_gpu_us, weighed.none_us) as trainer_init_gpu_us,
    coalesce(charged.pt2_compile_gpu_us, weighed.none_us) as pt2_compile_gpu_us,
    coalesce(charged.checkpoint_load_gpu_us, weighed.none_us) as checkpoint_load_gpu_us,
    coalesce(charged.effective_gpu_us, weighed.none_us) as effective_gpu_us,
    coalesce(charged.unsaved_gpu_us, weighed.none_us) as unsaved_gpu_us,
    coalesce(charged.hang_gpu_us, weighed.none_us) as hang_gpu_us,
    coalesce(charged.checkpoint_save_gpu_us, weighed.none_us) as checkpoint_save_gpu_us,
    coalesce(charged.evaluation_gpu_us, weighed.none_us) as evaluation_gpu_us,
    coalesce(charged.data_wait_gpu_us, weighed.none_us) as data_wait_gpu_us,
    coalesce(charged.shutdown_gpu_us, weighed.none_us) as shutdown_gpu_us,
    coalesce(charged.unaccounted_gpu_us, weighed.none_us) as unaccounted_gpu_us,
    coalesce(charged.uninstrumented_gpu_us, weighed.none_us) as uninstrumented_gpu_us,
    coalesce(charged.scheduling_recovery_gpu_us, weighed.none_us) as scheduling_recovery_gpu_us,
    coalesce(charged.hardware_setup_recovery_gpu_us, weighed.none_us)
        as hardware_setup_recovery_gpu_us,
    coalesce(charged.launcher_init_recovery_gpu_us, weighed.none_us)
        as launcher_init_recovery_gpu_us,
    coalesce(charged.trainer_init_recovery_gpu_us, weighed.none_us) as trainer_init_recovery_gpu_us,
    coalesce(charged.pt2_compile_recovery_gpu_us, weighed.none_us) as pt2_compile_recovery_gpu_us,
    coalesce(charged.checkpoint_load_recovery_gpu_us, weighed.none_us)
        as checkpoint_load_recovery_gpu_us,
    coalesce(begun.queue_us, 0) as queue_us,
    -- nothing, not unknown, where nothing of known GPUs began or ended
    coalesce(begun.queue_gpu_us, weighed.none_us) as queue_gpu_us,
    coalesce(ended.interruption_loss_us, 0) as interruption_loss_us,
    coalesce(ended.interruption_loss_gpu_us, weighed.none_us)
        as interruption_loss_gpu_us,
    -- counts
    coalesce(running.attempts_running, 0) as attempts_running,
    coalesce(running.jobs_running, 0) as jobs_running,
    coalesce(running.jobs_preempted, 0) as jobs_preempted,
    coalesce(ended.attempts_ended, 0) as attempts_ended,
    coalesce(ended.completed, 0) as completed,
    coalesce(ended.failed, 0) as failed,
    coalesce(ended.preempted, 0) as preempted,
    coalesce(ended.cancelled, 0) as cancelled,
    coalesce(ended.timeout, 0) as timeout,
    coalesce(ended.lost, 0) as lost,
    coalesce(ended.infra_failures, 0) as infra_failures,
    coalesce(ended.gpu_failures, 0) as gpu_failures,
    coalesce(ended.infra_gpu_failures, 0) as infra_gpu_failures,
    coalesce(ended.infra_interruptions, 0) as infra_interruptions,
    -- null: nothing of the day is instrumented
    coalesce(saved.checkpoint_saves, case when running.is_instrumented = 1 then 0 end)
        as checkpoint_saves,
    coalesce(begun.cache_hits, 0) as cache_hits,
    coalesce(begun.cache_misses, 0) as cache_misses,
    coalesce(begun.recompiles, 0) as recompiles
from keys
left join charged
    on
        keys.team = charged.team
        and keys.workload = charged.workload
        and keys.day = charged.day
left join ended
    on
        keys.team = ended.team
        and keys.workload = ended.workload
        and keys.day = ended.day
left join running
    on
        keys.team = running.team
        and keys.workload = running.workload
        and keys.day = running.day
left join begun
    on
        keys.team = begun.team
        and keys.workload = begun.workload
        and keys.day = begun.day
left join saved
    on
        keys.team = saved.team
        and keys.workload = saved.workload
        and keys.day = saved.day
left join weighed
    on
        keys.team = weighed.team
        and keys.workload = weighed.workload
        and keys.day = weighed.day
