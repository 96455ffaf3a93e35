-- How many attempts a regression rests on, before and after it began, each counted once: of shares
-- and failures those that ran, of saves those that saved. Of other measures nothing: there, the
-- detector counts each attempt once.
-- grain: one row per team, metric, started_on
with

told as (

    select
        'share' as kind,
        team,
        day,
        job_no,
        attempt
    from warehouse.attempt_day_facts_kept
    where
        is_counted
        and wall_us > uninstrumented_us

    union all

    select
        'failures' as kind,
        team,
        day,
        job_no,
        attempt
    from warehouse.attempt_day_facts_kept
    where
        is_counted
        and wall_us > 0
        and (
            gpus is not null
            or not exists (
                select 1
                from read_cells
                where metric = 'failures' and size >= 0
            )
        )

    union all

    select
        'saves' as kind,
        team,
        day,
        job_no,
        attempt
    from warehouse.save_facts_kept
    where
        is_counted
        and is_instrumented
        and status = 'good'
        and saved_us > captured_us

),

attempts as (

    select
        found.team,
        found.metric,
        found.started_on,
        told.job_no,
        told.attempt,
        bool_or(told.day < found.started_on) as is_before,
        bool_or(told.day >= found.started_on) as is_after
    from fresh_regressions as found
    inner join told
        on
            (found.team = told.team or found.team = 'fleet')
            and told.day between found.before_from and found.after_to
            and told.kind = case
                when found.metric like 'failures%' then 'failures'
                when found.metric in ('ett_ratio', 'unsaved_ratio', 'stalled_ratio') then 'share'
                when found.metric = 'checkpoint_save_seconds' then 'saves'
            end
    group by all

)

select
    team,
    metric,
    started_on,
    count(*) filter (where is_before) as attempts_before,
    count(*) filter (where is_after) as attempts_after
from attempts
group by team, metric, started_on
