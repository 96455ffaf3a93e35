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
    job_id,
    cast(null as bigint) as attempt,
    kind,
    detail
from job_doubts

union all

select
    cast(null as varchar) as job_id,
    cast(null as bigint) as attempt,
    'clock_offset' as kind,
    concat(
        source, ' is ', case when low_seconds is null then 'at least ' else 'about ' end,
        round(abs(estimate_seconds), 1), ' s ',
        case when estimate_seconds > 0 then 'ahead of ' else 'behind ' end, reference,
        -- the estimate is the middle of what may be; trainers that begin late leave much room
        case
            when low_seconds is not null
                then concat(
                    ' (',
                    round(least(
                        low_seconds * sign(estimate_seconds), high_seconds * sign(estimate_seconds)
                    ), 1),
                    ' to ',
                    round(greatest(
                        low_seconds * sign(estimate_seconds), high_seconds * sign(estimate_seconds)
                    ), 1),
                    ' s)'
                )
        end,
        ' in ', attempts, case when attempts = 1 then ' attempt' else ' attempts' end
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
