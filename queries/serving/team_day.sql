-- The measures of METRICS.md per team, workload and day; team `fleet` and workload `all` are all.
-- grain: one row per team, workload, day
-- stored: no
select
    totals.team,
    totals.workload,
    totals.day,
    days.is_complete,
    -- counts
    totals.attempts_ended,
    totals.completed,
    totals.failed,
    totals.preempted,
    totals.cancelled,
    totals.timeout,
    totals.lost,
    totals.failed + totals.timeout + totals.lost as failures,
    totals.infra_failures,
    totals.failed + totals.timeout + totals.lost + totals.preempted as interruptions,
    totals.infra_interruptions,
    totals.jobs_running,
    totals.attempts_running,
    totals.checkpoint_saves,
    totals.recompiles,
    coalesce(latencies.tts_count, 0) as tts_count,
    coalesce(latencies.ttr_count, 0) as ttr_count,
    -- seconds
    totals.wall_us / 1e6 as wall_seconds,
    totals.gpu_us / 1e6 as gpu_seconds,
    totals.queue_us / 1e6 as queue_seconds,
    case when totals.wall_us > totals.uninstrumented_us then totals.unaccounted_us end
    / 1e6 as unaccounted_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then totals.unaccounted_gpu_us end / 1e6
        as unaccounted_gpu_seconds,
    totals.uninstrumented_us / 1e6 as uninstrumented_seconds,
    totals.uninstrumented_gpu_us / 1e6 as uninstrumented_gpu_seconds,
    case when totals.wall_us > totals.uninstrumented_us then totals.effective_us end
    / 1e6 as effective_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then totals.effective_gpu_us end / 1e6
        as effective_gpu_seconds,
    case when totals.wall_us > totals.uninstrumented_us then totals.unsaved_us end
    / 1e6 as unsaved_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then totals.unsaved_gpu_us end / 1e6
        as unsaved_gpu_seconds,
    case when totals.wall_us > totals.uninstrumented_us then totals.checkpoint_save_us end
    / 1e6 as checkpoint_save_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then totals.checkpoint_save_gpu_us end
    / 1e6
        as checkpoint_save_gpu_seconds,
    case when totals.wall_us > totals.uninstrumented_us then (
        totals.unsaved_us
        + totals.checkpoint_save_us
        + totals.evaluation_us
        + totals.data_wait_us
        + totals.hang_us
    ) end / 1e6 as wasted_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then (
        totals.unsaved_gpu_us
        + totals.checkpoint_save_gpu_us
        + totals.evaluation_gpu_us
        + totals.data_wait_gpu_us
        + totals.hang_gpu_us
    ) end / 1e6 as wasted_gpu_seconds,
    case
        when totals.gpu_us > totals.uninstrumented_gpu_us
            then totals.gpu_us - totals.uninstrumented_gpu_us - totals.effective_gpu_us
    end / 1e6
        as lost_gpu_seconds,
    case when totals.gpu_us > totals.uninstrumented_gpu_us then totals.interruption_loss_gpu_us end
    / 1e6
        as interruption_loss_gpu_seconds,
    -- percentiles
    latencies.tts_p50_us / 1e6 as tts_p50_seconds,
    latencies.tts_p90_us / 1e6 as tts_p90_seconds,
    latencies.ttr_p50_us / 1e6 as ttr_p50_seconds,
    latencies.ttr_p90_us / 1e6 as ttr_p90_seconds,
    latencies.save_p50_us / 1e6 as checkpoint_save_p50_seconds,
    latencies.save_p90_us / 1e6 as checkpoint_save_p90_seconds,
    latencies.save_p99_us / 1e6 as checkpoint_save_p99_seconds,
    -- ratios: of sums, computed once
    totals.effective_us / nullif(totals.wall_us - totals.uninstrumented_us, 0) as ett_ratio,
    totals.effective_gpu_us
    / nullif(totals.gpu_us - totals.uninstrumented_gpu_us, 0) as ett_gpu_ratio,
    (totals.wall_us - totals.uninstrumented_us - totals.effective_us - totals.unsaved_us)
    / nullif(totals.wall_us - totals.uninstrumented_us, 0) as idleness_ratio,
    (totals.gpu_us - totals.uninstrumented_gpu_us - totals.effective_gpu_us - totals.unsaved_gpu_us)
    / nullif(totals.gpu_us - totals.uninstrumented_gpu_us, 0) as idleness_gpu_ratio,
    totals.unsaved_us / nullif(totals.wall_us - totals.uninstrumented_us, 0) as failure_ratio,
    totals.unsaved_gpu_us
    / nullif(totals.gpu_us - totals.uninstrumented_gpu_us, 0) as failure_gpu_ratio,
    case when totals.wall_us > totals.uninstrumented_us then totals.effective_us end
    / (totals.wall_us - totals.uninstrumented_us + totals.queue_us) as ettr_with_queue_ratio,
    totals.preempted / nullif(totals.attempts_ended, 0) as preemption_ratio,
    totals.jobs_preempted / nullif(totals.jobs_running, 0) as preempted_job_ratio,
    (totals.gpu_us - totals.uninstrumented_gpu_us) / nullif(totals.gpu_us, 0) as instrumented_ratio,
    totals.cache_hits / nullif(totals.cache_hits + totals.cache_misses, 0)
        as compile_cache_hit_ratio
from team_day_totals as totals
inner join days on totals.day = days.day
left join day_latencies as latencies
    on
        totals.team = latencies.team
        and totals.workload = latencies.workload
        and totals.day = latencies.day
