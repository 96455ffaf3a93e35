-- What the good saves of an attempt on a day took: one value for all, since the saves of one job
-- are alike and say no more than one.
-- grain: one row per job_no, attempt, day
with

saved as (

    select
        saves.job_no,
        saves.attempt,
        saves.day,
        bool_or(saves.is_async) as is_async,
        count(*) as saves,
        sum(saves.saved_us - saves.captured_us) as whole_us,
        -- whole numbers: no order of the saves can change the sum
        sum(cast(round(1e6 * ln(saves.saved_us - saves.captured_us)) as bigint)) as log_us_e6
    from save_facts_kept as saves
    inner join touched_days as touched on saves.day = touched.day
    where
        saves.is_counted
        and saves.is_instrumented
        and saves.status = 'good'
        and saves.saved_us > saves.captured_us
    group by saves.job_no, saves.attempt, saves.day

)

select
    saved.job_no,
    saved.attempt,
    facts.team,
    'checkpoint_save_seconds' as metric,
    saved.day,
    facts.workload,
    facts.gpus,
    case when saved.is_async then 'async' else 'sync' end as trial,
    coalesce(facts.model, '') as model,
    saved.log_us_e6 // saved.saves as log_us_e6,
    saved.whole_us // saved.saves as us,
    saved.whole_us
from saved
inner join attempt_facts_kept as facts
    on
        saved.job_no = facts.job_no
        and saved.attempt = facts.attempt
