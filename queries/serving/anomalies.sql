-- Contradictions between good lines, and what was left out: resolved by METRICS.md, listed here.
-- What lies between two sources, or in all of a cluster, and not in one job has no job.
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

union all

-- a scheduler that does not account for GPUs tells of 0, as for work that needs none
select
    cast(null as varchar) as job_id,
    cast(null as bigint) as attempt,
    'no_gpus' as kind,
    concat(
        'none of ', count(*), ' attempts',
        case when cluster is not null then concat(' on ', cluster) end,
        ' has a GPU, and no ratio counts them: ',
        'does AccountingStorageTRES in slurm.conf name gres/gpu?'
    ) as detail
from attempts
where gpus is not null
group by cluster
having max(gpus) = 0
