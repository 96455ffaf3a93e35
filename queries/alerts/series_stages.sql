-- How long each stage of starting and of stopping was open, in attempts that got past it.
-- grain: one row per job_no, attempt, metric
select
    facts.job_no,
    facts.attempt,
    facts.team,
    concat(cast(stages.phase as varchar), '_', stages.stage, '_seconds') as metric,
    touched.day,
    facts.workload,
    facts.gpus,
    case
        when stages.phase = 'shutdown' then cast(facts.outcome as varchar)
        when facts.attempt = 1 then 'first'
        when facts.scheduling_us = 0 then 'in place'
        else 'retry'
    end as trial,
    coalesce(facts.model, '') as model,
    stages.us
from stage_facts_kept as stages
inner join attempt_facts_kept as facts
    on
        stages.job_no = facts.job_no
        and stages.attempt = facts.attempt
inner join touched_days as touched
    on
        case when stages.phase = 'shutdown' then facts.ended_day else facts.first_batch_day end
        = touched.day
where
    facts.is_counted
    and facts.is_instrumented
    and facts.first_batch_day is not null
    and (stages.phase <> 'shutdown' or facts.outcome <> 'running')
    and stages.us > 0
    -- said again of the attempts alone, so that no others are looked for among all stages
    and (
        facts.ended_day in (select ended.day from touched_days as ended)
        or facts.first_batch_day in (select started.day from touched_days as started)
    )
