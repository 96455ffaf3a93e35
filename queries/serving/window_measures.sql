-- The measures of METRICS.md for one scope over the days that a reader chooses, but those of jobs
-- and saves, which cost more than all the rest. Percentiles are taken over attempts, never over
-- days.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day
with

totals as (

    select
        coalesce(sum(wall_us), 0) as wall_us,
        -- null: no GPUs are known
        sum(gpu_us) as gpu_us,
        coalesce(sum(effective_us), 0) as effective_us,
        coalesce(sum(unsaved_us), 0) as unsaved_us,
        coalesce(sum(hang_us), 0) as hang_us,
        coalesce(sum(checkpoint_save_us), 0) as checkpoint_save_us,
        coalesce(sum(evaluation_us), 0) as evaluation_us,
        coalesce(sum(data_wait_us), 0) as data_wait_us,
        coalesce(sum(unaccounted_us), 0) as unaccounted_us,
        coalesce(sum(uninstrumented_us), 0) as uninstrumented_us,
        sum(effective_gpu_us) as effective_gpu_us,
        sum(unsaved_gpu_us) as unsaved_gpu_us,
        sum(hang_gpu_us) as hang_gpu_us,
        sum(checkpoint_save_gpu_us) as checkpoint_save_gpu_us,
        sum(evaluation_gpu_us) as evaluation_gpu_us,
        sum(data_wait_gpu_us) as data_wait_gpu_us,
        sum(unaccounted_gpu_us) as unaccounted_gpu_us,
        sum(uninstrumented_gpu_us) as uninstrumented_gpu_us,
        coalesce(sum(queue_us), 0) as queue_us,
        sum(interruption_loss_gpu_us) as interruption_loss_gpu_us,
        coalesce(sum(attempts_ended), 0) as attempts_ended,
        coalesce(sum(completed), 0) as completed,
        coalesce(sum(failed), 0) as failed,
        coalesce(sum(preempted), 0) as preempted,
        coalesce(sum(cancelled), 0) as cancelled,
        coalesce(sum(timeout), 0) as timeout,
        coalesce(sum(lost), 0) as lost,
        coalesce(sum(infra_failures), 0) as infra_failures,
        coalesce(sum(infra_interruptions), 0) as infra_interruptions,
        -- null: nothing of these days is instrumented
        case when count(*) = 0 then 0 else sum(checkpoint_saves) end as checkpoint_saves,
        coalesce(sum(cache_hits), 0) as cache_hits,
        coalesce(sum(cache_misses), 0) as cache_misses,
        coalesce(sum(recompiles), 0) as recompiles
    from team_day_totals
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day

),

waits as (

    -- one pass over the attempts, for both kinds of waits
    select
        count(tts_us) as tts_count,
        quantile_disc(tts_us, [0.5, 0.9]) as tts_us,
        count(ttr_us) as ttr_count,
        quantile_disc(ttr_us, [0.5, 0.9]) as ttr_us
    from attempts
    where
        is_counted
        and (tts_us is not null or ttr_us is not null)
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and first_batch_day between first_day and last_day

),

span as (

    select
        bool_and(days.is_complete) as is_complete,
        max(days.day) as newest_day,
        count(*) as days
    from days
    where days.day between first_day and last_day

)

select
    chosen_team as team,
    chosen_workload as workload,
    first_day as first_day,  -- noqa: AL09
    last_day as last_day,  -- noqa: AL09
    -- a day that has not begun is not complete either
    coalesce(span.is_complete and span.newest_day >= last_day, false) as is_complete,
    span.days,
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
    totals.checkpoint_saves,
    totals.recompiles,
    coalesce(waits.tts_count, 0) as tts_count,
    coalesce(waits.ttr_count, 0) as ttr_count,
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
    waits.tts_us[1] / 1e6 as tts_p50_seconds,
    waits.tts_us[2] / 1e6 as tts_p90_seconds,
    waits.ttr_us[1] / 1e6 as ttr_p50_seconds,
    waits.ttr_us[2] / 1e6 as ttr_p90_seconds,
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
    (totals.gpu_us - totals.uninstrumented_gpu_us) / nullif(totals.gpu_us, 0) as instrumented_ratio,
    totals.cache_hits / nullif(totals.cache_hits + totals.cache_misses, 0)
        as compile_cache_hit_ratio
from totals
cross join waits
cross join span
