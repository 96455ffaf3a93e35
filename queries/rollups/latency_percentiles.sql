-- Nearest-rank percentiles of each latency per team, workload and day; for `fleet` and `all` they
-- are taken over the attempts of that scope, never over other percentiles.
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

ranked as (

    select
        team,
        workload,
        day,
        measure,
        count(*) as samples,
        -- the discrete percentile is the nearest rank; the three from one copy of the values
        quantile_disc(us, [0.5, 0.9, 0.99]) as percentiles_us
    from samples
    group by
        grouping sets (
            (team, workload, day, measure),
            (team, day, measure),
            (workload, day, measure),
            (day, measure)
        )

)

select
    coalesce(team, 'fleet') as team,
    coalesce(workload, 'all') as workload,
    day,
    measure,
    samples,
    percentiles_us[1] as p50_us,
    percentiles_us[2] as p90_us,
    percentiles_us[3] as p99_us
from ranked
