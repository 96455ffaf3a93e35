-- What attempts are cut from: launches, and allocations of which no launch is known.
-- grain: one row per stretch_no
-- empty without: woven_jobs
with

launched as (

    select
        joined_no,
        chain_no,
        try,
        island,
        min(first_us) as first_us,
        min(name) as name,
        min(job_key) as job_key
    from stg_islands
    group by joined_no, chain_no, try, island

),

known as (

    select
        joined.job_no as joined_no,
        allocations.job_no as chain_no,
        allocations.try,
        launched.island,
        allocations.scheduler_key,
        allocations.allocation_id,
        allocations.begin_us,
        allocations.end_us,
        allocations.hold_us,
        allocations.source_no,
        -- the first launch holds its allocation from the start of it
        case
            when coalesce(launched.island, 1) = 1
                then least(allocations.begin_us, launched.first_us)
            else launched.first_us
        end as from_us,
        launched.name,
        launched.job_key
    from stg_allocations as allocations
    inner join stg_joined_jobs as joined on allocations.job_no = joined.member_no
    left join launched
        on
            allocations.job_no = launched.chain_no
            and allocations.try = launched.try

    union all

    select
        joined_no,
        chain_no,
        try,
        island,
        cast(null as varchar) as scheduler_key,
        cast(null as varchar) as allocation_id,
        cast(null as bigint) as begin_us,
        cast(null as bigint) as end_us,
        first_us as hold_us,
        cast(null as integer) as source_no,
        first_us as from_us,
        name,
        job_key
    from launched
    where chain_no is null

)

select
    joined_no as job_no,
    chain_no,
    try,
    island,
    allocation_id,
    begin_us,
    end_us,
    hold_us,
    source_no,
    from_us,
    case
        when chain_no is null then concat(job_key, '/', from_us // 1000000)
    end as launch_id,
    cast(row_number() over (
        order by
            joined_no asc,
            hold_us asc,
            scheduler_key asc nulls last,
            chain_no asc,
            try asc,
            from_us asc,
            name asc nulls first
    ) as bigint) as stretch_no,
    row_number() over (
        partition by joined_no
        order by
            from_us asc,
            hold_us asc,
            scheduler_key asc nulls last,
            chain_no asc,
            try asc,
            name asc nulls first
    ) as place
from known
