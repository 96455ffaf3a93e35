-- Contradictions between good lines, and what was left out: resolved by METRICS.md, listed here.
-- What lies between two sources and not in one job has no job.
-- grain: many rows per job_id, attempt, kind
-- stored: no
select
    job_id,
    attempt,
    kind,
    detail
from job_anomalies

union all

select
    cast(null as varchar) as job_id,
    cast(null as bigint) as attempt,
    'clock_offset' as kind,
    concat(
        source, ' is ', round(abs(estimate_seconds), 1), ' s ',
        case when estimate_seconds > 0 then 'ahead of ' else 'behind ' end, reference, ' in ',
        attempts, ' attempts'
    ) as detail
from clock_offsets
where abs(estimate_seconds) > 2
