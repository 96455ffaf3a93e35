-- The logical job and attempt of each event of a trainer in a joined job: by its own number, else
-- by the piece of its stretch that had begun last.
-- grain: one row per row_no
-- empty without: woven_jobs
with

placed as (

    select
        events.row_no,
        events.job_no as name_no,
        events.source_no,
        events.launch,
        events.at_us,
        events.last_us,
        events.is_life,
        events.is_failure,
        stretches.job_no,
        stretches.stretch_no,
        pieces.attempt
    from stg_run_events as events
    inner join stg_run_stretches as stretches on events.row_no = stretches.row_no
    left join stg_generations as counted on events.row_no = counted.row_no
    left join stg_pieces as pieces
        on
            stretches.stretch_no = pieces.stretch_no
            and pieces.is_numbered
            and pieces.piece
            = case when pieces.is_generation then counted.generation else events.attempt end

),

counted as (

    select
        row_no,
        stretch_no,
        sum(begun) over (
            partition by stretch_no
            order by at_us asc, begun desc
            rows unbounded preceding
        ) as begun
    from (
        select
            row_no,
            stretch_no,
            at_us,
            0 as begun
        from placed
        where
            attempt is null
            and stretch_no is not null
        union all
        select
            cast(null as bigint) as row_no,
            stretch_no,
            from_us as at_us,
            1 as begun
        from stg_pieces
    ) as lined_up

),

timed as (

    select
        counted.row_no,
        pieces.attempt
    from counted
    inner join stg_pieces as pieces
        on
            counted.stretch_no = pieces.stretch_no
            and pieces.place = greatest(counted.begun, 1)
    where counted.row_no is not null

)

select
    placed.row_no,
    placed.job_no,
    -- a job without any attempt: its queue and its names count for the first
    coalesce(placed.attempt, timed.attempt, 1) as attempt,
    placed.launch,
    placed.source_no,
    placed.at_us,
    placed.last_us,
    placed.is_life,
    placed.is_failure,
    -- who tells: what one source says under one name is paired with nothing else
    dense_rank() over (order by placed.name_no asc, placed.source_no asc) as teller
from placed
left join timed on placed.row_no = timed.row_no
