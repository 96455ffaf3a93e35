-- Each launch with its logical job and the allocation that it ran in: the one of its restart count
-- if their times agree, else of largest overlap, else by the count alone, else one just beside it.
-- grain: one row per job_no, launch
-- empty without: woven_jobs
with

launched as (

    select
        launches.job_no,
        launches.launch,
        launches.first_us,
        launches.last_us,
        launches.scheduler_job,
        launches.run_restart,
        launches.is_launcher,
        launches.is_silent,
        launches.first_rank,
        launches.has_trained,
        launches.is_named,
        launches.is_alive,
        links.chain_no,
        coalesce(of_chain.job_no, of_name.job_no) as joined_no
    from stg_launches as launches
    inner join stg_trainer_names as names on launches.job_no = names.job_no
    inner join stg_joined_jobs as of_name on launches.job_no = of_name.member_no
    left join stg_launch_links as links
        on
            launches.job_no = links.job_no
            and launches.launch = links.launch
    left join stg_joined_jobs as of_chain
        on
            links.chain_no = of_chain.member_no
            -- launches of a name that is no job's go each to their own
            and not names.is_bond

),

allocated as (

    select
        joined.job_no as joined_no,
        allocations.job_no,
        allocations.try,
        allocations.allocation_id,
        allocations.begin_us,
        allocations.until_us
    from stg_allocations as allocations
    inner join stg_joined_jobs as joined on allocations.job_no = joined.member_no

),

compared as (

    select
        launched.job_no,
        launched.launch,
        allocated.job_no as chain_no,
        allocated.try,
        allocated.begin_us,
        allocated.allocation_id,
        least(launched.last_us, allocated.until_us)
        - greatest(launched.first_us, allocated.begin_us) as overlap_us,
        -- how far outside it began
        greatest(
            allocated.begin_us - launched.first_us, launched.first_us - allocated.until_us, 0
        ) as away_us,
        coalesce(launched.run_restart + 1 = allocated.try, false) as is_counted
    from launched
    inner join allocated
        on
            launched.joined_no = allocated.joined_no
            and coalesce(launched.chain_no, allocated.job_no) = allocated.job_no
    where
        launched.is_alive
        -- it names a job of which no row is known
        and (launched.chain_no is not null or launched.scheduler_job is null)

),

fitting as (

    select
        *,
        case
            when is_counted and (overlap_us >= 0 or away_us <= 120000000) then 1
            when overlap_us >= 0 then 2
            when is_counted and overlap_us >= -3600000000 then 3
            when away_us <= 120000000 then 4
        end as fit
    from compared

),

ranked as (

    select
        *,
        row_number() over (
            partition by job_no, launch
            order by fit asc, overlap_us desc, begin_us desc, allocation_id desc
        ) as precedence
    from fitting
    where fit is not null

),

taken as (

    select joined_no
    from allocated

    union

    select joined_no
    from launched
    where
        is_named
        and is_alive

)

select
    launched.job_no,
    launched.launch,
    launched.joined_no,
    launched.scheduler_job,
    launched.first_us,
    launched.last_us,
    launched.is_launcher,
    launched.is_silent,
    launched.first_rank,
    launched.has_trained,
    ranked.chain_no,
    ranked.try,
    -- what no dump calls a launch is one only where its job has nothing else
    launched.is_alive
    and (
        launched.is_named
        or launched.joined_no not in (select taken.joined_no from taken)
    ) as is_told
from launched
left join ranked
    on
        launched.job_no = ranked.job_no
        and launched.launch = ranked.launch
        and ranked.precedence = 1
