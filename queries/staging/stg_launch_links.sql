-- Which of the scheduler's jobs each launch says that it runs under: the number on its cluster,
-- and of those that had the number the one of its time. A name that is a number says it too, of a
-- job that ran at that time: many a run is called by a number that is none of the scheduler's.
-- grain: one row per job_no, launch
-- empty without: woven_jobs
with

candidates as (

    select
        launches.job_no,
        launches.launch,
        launches.first_us,
        launches.last_us,
        scheduled.job_no as base_job_no,
        scheduled.cluster,
        case
            when launches.job_no = scheduled.job_no then 0
            when launches.cluster = scheduled.cluster then 1
            when launches.cluster is null and scheduled.cluster is null then 1
            else 2  -- one of the two names no cluster
        end as distance,
        false as is_own_number
    from stg_launches as launches
    inner join scheduler_jobs as scheduled
        on
            launches.scheduler_job = scheduled.scheduler_job
            and (
                launches.cluster is null
                or scheduled.cluster is null
                or launches.cluster = scheduled.cluster
            )
    where
        scheduled.job_no in (
            select chains.base_job_no
            from stg_chains as chains
            where not chains.is_revoked
        )

    union all

    -- a job whose very name is the scheduler's
    select
        launches.job_no,
        launches.launch,
        launches.first_us,
        launches.last_us,
        launches.job_no as base_job_no,
        cast(null as varchar) as cluster,
        0 as distance,
        false as is_own_number
    from stg_launches as launches
    where
        launches.scheduler_job is null
        and launches.job_no in (select chains.base_job_no from stg_chains as chains)

    union all

    select
        launches.job_no,
        launches.launch,
        launches.first_us,
        launches.last_us,
        scheduled.job_no as base_job_no,
        scheduled.cluster,
        3 as distance,
        true as is_own_number
    from stg_launches as launches
    inner join job_keys on launches.job_no = job_keys.job_no
    inner join scheduler_jobs as scheduled on job_keys.job_key = scheduled.scheduler_job
    inner join stg_chains as chains on scheduled.job_no = chains.base_job_no
    where
        launches.scheduler_job is null
        and not chains.is_revoked
        and least(launches.last_us, chains.until_us)
        >= greatest(launches.first_us, chains.begin_us)

),

nearest as (

    select
        *,
        min(distance) over (partition by job_no, launch) as least_distance
    from candidates

),

chosen as (

    select
        job_no,
        launch,
        first_us,
        last_us,
        min(base_job_no) as base_job_no,
        bool_or(is_own_number) as is_own_number,
        count(distinct base_job_no) as meanings,
        min(cluster) as first_cluster,
        max(cluster) as last_cluster
    from nearest
    where distance = least_distance
    group by job_no, launch, first_us, last_us

),

timed as (

    select
        chosen.job_no,
        chosen.launch,
        chosen.meanings,
        chosen.is_own_number,
        chosen.first_cluster,
        chosen.last_cluster,
        chains.job_no as chain_no,
        row_number() over (
            partition by chosen.job_no, chosen.launch
            order by
                -- how long the two overlap; below zero how far apart they are
                least(chosen.last_us, chains.until_us) - greatest(chosen.first_us, chains.begin_us)
                desc,
                chains.chain desc
        ) as precedence
    from chosen
    inner join stg_chains as chains on chosen.base_job_no = chains.base_job_no

)

select
    job_no,
    launch,
    case when meanings = 1 then chain_no end as chain_no,
    meanings,
    is_own_number,
    first_cluster,
    last_cluster
from timed
where precedence = 1
