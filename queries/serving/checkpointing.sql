-- How each attempt that trained saved its work: how often, how long each save blocked it, and what
-- was discarded. Good saves only; null where fewer than two tell no interval.
-- grain: one row per job_id, attempt
-- changes by: job_id
with

saves as (

    select
        kept.job_no,
        kept.attempt,
        kept.saved_us - kept.captured_us as blocked_us,
        kept.captured_us - lag(kept.captured_us) over (
            partition by kept.job_no, kept.attempt
            order by kept.captured_us asc
        ) as since_us
    from warehouse.save_facts_kept as kept
    where
        kept.status = 'good'
        and kept.is_counted
        and kept.is_instrumented
        and kept.job_no in (select names.job_no from publishing_names as names)

),

habits as (

    -- quantile_disc is the nearest rank
    select
        job_no,
        attempt,
        count(*) as saves,
        quantile_disc(since_us, 0.5) as interval_us,
        quantile_disc(blocked_us, 0.5) as blocked_us
    from saves
    group by job_no, attempt

)

select
    names.job_id,
    facts.attempt,
    facts.team,
    facts.workload,
    facts.gpus,
    facts.ended_day,
    facts.started_day,
    facts.outcome in ('failed', 'preempted', 'timeout', 'lost') as is_interruption,
    facts.outcome = 'running' as is_open,
    coalesce(habits.saves, 0) as saves,
    cast(habits.interval_us as bigint) as interval_us,
    cast(habits.blocked_us as bigint) as blocked_us,
    cast(
        facts.effective_us
        + facts.unsaved_us
        + facts.checkpoint_save_us
        + facts.evaluation_us
        + facts.data_wait_us
        + facts.hang_us as bigint
    ) as loop_us,
    cast(facts.unsaved_us as bigint) as unsaved_us,
    cast(facts.checkpoint_save_us as bigint) as checkpoint_save_us
from warehouse.attempt_facts_kept as facts
inner join publishing_names as names on facts.job_no = names.job_no
left join habits
    on
        facts.job_no = habits.job_no
        and facts.attempt = habits.attempt
where
    facts.is_counted
    and facts.is_instrumented
    and facts.first_batch_us is not null
order by facts.ended_day asc
