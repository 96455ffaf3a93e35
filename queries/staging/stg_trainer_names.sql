-- The names that trainers give jobs, and which of them hold the scheduler's jobs together that they
-- ran under: none that is only a scheduler's number, and none under which two ran at once.
-- grain: one row per job_no
-- empty without: woven_jobs
with

numbered as (

    select launches.job_no
    from stg_launches as launches
    inner join job_keys on launches.job_no = job_keys.job_no
    where
        job_keys.job_key = launches.scheduler_job
        or right(job_keys.job_key, length(launches.scheduler_job) + 1)
        = concat(':', launches.scheduler_job)

    union

    select links.job_no
    from stg_launch_links as links
    where links.is_own_number

    union

    select chains.base_job_no as job_no
    from stg_chains as chains

),

linked as (

    select
        job_no,
        chain_no
    from stg_launch_links
    where chain_no is not null
    group by job_no, chain_no

),

held as (

    select
        linked.job_no,
        allocations.begin_us,
        max(allocations.seen_us) over (
            partition by linked.job_no
            order by allocations.begin_us asc, allocations.seen_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from linked
    inner join stg_allocations as allocations on linked.chain_no = allocations.job_no

),

shared as (

    select job_no
    from held
    where begin_us < reach_us
    group by job_no

),

names as (

    select job_no
    from stg_launches
    group by job_no

)

select
    names.job_no,
    names.job_no not in (select numbered.job_no from numbered)
    and names.job_no not in (select shared.job_no from shared)
    and names.job_no in (select linked.job_no from linked) as is_bond,
    names.job_no not in (select numbered.job_no from numbered)
    and names.job_no in (select shared.job_no from shared) as is_shared
from names
