-- What stopped attempts, and what it cost, per team, workload and day of the end.
-- grain: one row per team, workload, day, category
select
    facts.team,
    facts.workload,
    facts.ended_day as day,
    facts.category,
    count(*) as interruptions,
    -- what can be held against GPU-hours, which those of unknown GPUs have no part in
    count(facts.gpus) as gpu_interruptions,
    -- whose cost is known: not of those that are not instrumented either
    count(facts.lost_gpu_us + facts.caused_recovery_gpu_us) as costed_interruptions,
    sum(facts.lost_gpu_us + facts.caused_recovery_gpu_us) as lost_gpu_us
from attempt_facts_kept as facts
inner join touched_days as touched on facts.ended_day = touched.day
where
    facts.is_counted
    and facts.category is not null
group by facts.team, facts.workload, facts.ended_day, facts.category
