-- Nearest-rank percentiles of each latency per team, workload and day; for `fleet` and `all` they are
-- taken over the attempts of that scope, never over other percentiles.
-- grain: one row per team, workload, day, measure
with

samples as (

    select
        facts.team,
        facts.workload,
        facts.first_batch_day as day,
        'tts' as measure,
        facts.tts_us as us
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.first_batch_day = touched.day
    where
        facts.is_counted
        and facts.tts_us is not null

    union all

    select
        facts.team,
        facts.workload,
        facts.first_batch_day as day,
        'ttr' as measure,
        facts.ttr_us as us
    from attempt_facts_kept as facts
    inner join touched_days as touched on facts.first_batch_day = touched.day
    where
        facts.is_counted
        and facts.ttr_us is not null

    union all

    select
        saves.team,
        saves.workload,
        saves.day,
        'save' as measure,
        saves.saved_us - saves.captured_us as us
    from save_facts_kept as saves
    inner join touched_days as touched on saves.day = touched.day
    where
        saves.is_counted
        and saves.is_instrumented
        and saves.status = 'good'

),

scoped as (

    select team, workload, day, measure, us from samples

    union all

    select team, 'all' as workload, day, measure, us from samples

    union all

    select 'fleet' as team, workload, day, measure, us from samples

    union all

    select 'fleet' as team, 'all' as workload, day, measure, us from samples

),

ranked as (

    select
        *,
        row_number() over (
            partition by team, workload, day, measure
            order by us asc
        ) as position,
        count(*) over (partition by team, workload, day, measure) as samples
    from scoped

)

select
    team,
    workload,
    day,
    measure,
    max(samples) as samples,
    max(case when position = (50 * samples + 99) // 100 then us end) as p50_us,
    max(case when position = (90 * samples + 99) // 100 then us end) as p90_us,
    max(case when position = (99 * samples + 99) // 100 then us end) as p99_us
from ranked
group by team, workload, day, measure
