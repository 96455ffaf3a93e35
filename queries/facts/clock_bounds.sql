-- By how much the clock of a trainer's source may differ from its scheduler's, as each allocation
-- shows that both tell: no trainer speaks before its allocation began, none after it had ended.
-- grain: one row per job_no, attempt, source_no
with

allocations as (

    select
        pieces.chain_no,
        pieces.try,
        pieces.source_no as reference_no,
        min(pieces.job_no) as job_no,
        min(pieces.attempt) as first_attempt,
        max(pieces.attempt) as last_attempt,
        min(pieces.begin_us) as begin_us,
        max(pieces.end_us) as end_us
    from stg_pieces as pieces
    where pieces.chain_no is not null
    group by pieces.chain_no, pieces.try, pieces.source_no

),

spoken as (

    select
        pieces.chain_no,
        pieces.try,
        placed.source_no,
        min(placed.at_us) as first_us,
        max(placed.last_us) as last_us
    from stg_placements as placed
    inner join stg_pieces as pieces
        on
            placed.job_no = pieces.job_no
            and placed.attempt = pieces.attempt
    left join launches_over_allocations as several
        on
            placed.job_no = several.job_no
            and placed.launch = several.launch
    where
        pieces.chain_no is not null
        and placed.is_life
        and placed.launch is not null
        -- one that is several is no allocation's
        and several.launch is null
    group by pieces.chain_no, pieces.try, placed.source_no

)

select
    allocations.job_no,
    allocations.job_no % 4294967296 as base_job_no,
    allocations.first_attempt as attempt,
    spoken.source_no,
    allocations.reference_no,
    -- ahead at least by this: schedulers write whole seconds, and what they kill may outlive it
    case
        when
            ends.is_scheduler
            and ends.outcome in ('completed', 'failed')
            and coalesce(ends.category not like 'scheduler/%', true)
            then spoken.last_us - allocations.end_us - 1000000
    end as least_us,
    -- and at most by this
    spoken.first_us - allocations.begin_us as most_us
from spoken
inner join allocations
    on
        spoken.chain_no = allocations.chain_no
        and spoken.try = allocations.try
left join attempt_ends as ends
    on
        allocations.job_no = ends.job_no
        and allocations.last_attempt = ends.attempt
