-- Time each stage of each attempt was open; overlapping stages overlap.
-- grain: one row per job_id, attempt, phase, stage
-- changes by: job_id
select
    names.job_id,
    stages.attempt,
    cast(stages.phase as varchar) as phase,
    stages.stage,
    stages.us / 1e6 as seconds
from warehouse.stage_facts_kept as stages
inner join publishing_names as names on stages.job_no = names.job_no
