-- What the compiles of an attempt said of their cache. One miss makes the attempt a miss.
-- grain: one row per job_no, attempt
with

reported as (

    select
        job_no,
        attempt,
        reporter,
        max(case when cache = 'miss' then 1 else 0 end) as misses,
        max(case when cache = 'hit' then 1 else 0 end) as hits,
        cast(sum(recompiles) as bigint) as recompiles
    from stg_events
    where
        phase = 'pt2_compile'
        and (cache is not null or recompiles is not null)
    group by job_no, attempt, reporter

)

select
    job_no,
    attempt,
    case
        when max(misses) = 1 then 'miss'
        when max(hits) = 1 then 'hit'
    end as cache,
    -- ranks recompile the same graphs: the busiest one counts
    max(recompiles) as recompiles
from reported
group by job_no, attempt
