-- The attempts of joined jobs: each stretch cut into generations of its workers, or into the
-- attempts that a dump numbers, and all of them numbered by time.
-- grain: one row per job_no, attempt
-- empty without: woven_jobs
with

told as (

    select
        placed.stretch_no,
        events.at_us,
        counted.generation,
        events.attempt
    from stg_run_stretches as placed
    inner join stg_run_events as events on placed.row_no = events.row_no
    left join stg_generations as counted on placed.row_no = counted.row_no
    where
        events.is_life
        and (counted.generation is not null or events.attempt is not null)

),

generations as (

    select
        stretch_no,
        generation as piece,
        min(at_us) as from_us
    from told
    where generation is not null
    group by stretch_no, generation

),

cut as (

    select
        stretch_no,
        piece,
        from_us,
        true as is_numbered,
        true as is_generation,
        cast(null as bigint) as told_attempt
    from generations

    union all

    select
        stretch_no,
        attempt as piece,
        min(at_us) as from_us,
        true as is_numbered,
        false as is_generation,
        attempt as told_attempt
    from told
    where
        attempt is not null
        and stretch_no not in (select generations.stretch_no from generations)
    group by stretch_no, attempt

),

whole as (

    select * from cut

    union all

    select
        stretch_no,
        0 as piece,
        from_us,
        false as is_numbered,
        false as is_generation,
        cast(null as bigint) as told_attempt
    from stg_stretches
    where stretch_no not in (select cut.stretch_no from cut)

),

ordered as (

    select
        stretches.job_no,
        whole.stretch_no,
        whole.piece,
        whole.from_us,
        whole.is_numbered,
        whole.is_generation,
        whole.told_attempt,
        row_number() over (
            partition by stretches.job_no
            order by whole.stretch_no asc, whole.piece asc
        ) as turn,
        row_number() over (
            partition by whole.stretch_no
            order by whole.from_us asc, whole.piece asc
        ) as place,
        -- the next generation of the same launch took over
        coalesce(
            lead(whole.stretch_no) over (
                partition by stretches.job_no
                order by whole.stretch_no asc, whole.piece asc
            ) = whole.stretch_no
            and whole.is_generation,
            false
        ) as is_continued,
        count(*) over (partition by whole.stretch_no) as pieces,
        stretches.chain_no,
        stretches.try,
        stretches.allocation_id,
        stretches.launch_id,
        stretches.begin_us,
        stretches.end_us,
        stretches.source_no
    from whole
    inner join stg_stretches as stretches on whole.stretch_no = stretches.stretch_no

)

select
    job_no,
    -- in the order of time; past a number that a dump gives, on from that number
    cast(turn + greatest(max(coalesce(told_attempt - turn, 0)) over in_order, 0) as bigint)
        as attempt,
    stretch_no,
    piece,
    place,
    from_us,
    is_numbered,
    is_generation,
    -- the generations of a launch hold its hardware, whoever gave it
    case
        when job_no not in (select placed.job_no from stg_run_stretches as placed) then null
        when chain_no is not null then allocation_id
        when is_generation and pieces > 1 then launch_id
    end as allocation_id,
    chain_no,
    try,
    source_no,
    -- of the allocation, on its first and on all of its attempts
    case
        when row_number() over (
            partition by chain_no, try
            order by turn asc
        ) = 1 then begin_us
    end as begin_us,
    end_us,
    is_continued
from ordered
window in_order as (
    partition by job_no
    order by turn asc
    rows unbounded preceding
)
