-- Launches that overlap in time within one allocation, or outside of all, are one told by several.
-- So is one that begins where a launcher fell silent, which does not hear what its workers do, and
-- so are ranks, each a launch of its own file, of which one begins soon after another that did not
-- come to train.
-- grain: one row per job_no, launch
-- empty without: woven_jobs
with

lined_up as (

    select
        holds.job_no,
        holds.launch,
        holds.joined_no,
        holds.chain_no,
        holds.try,
        holds.first_us,
        holds.last_us,
        holds.first_rank,
        holds.is_launcher,
        job_keys.job_key,
        max(holds.last_us) over in_order as reach_us,
        max(case when holds.is_silent then holds.last_us end) over in_order as silent_us,
        max(case when holds.first_rank is not null then holds.last_us end)
            over in_order as ranks_us,
        max(case when holds.has_trained then holds.last_us end) over in_order as trained_us,
        max(holds.first_us) over in_order as previous_first_us
    from stg_holds as holds
    inner join job_keys on holds.job_no = job_keys.job_no
    where holds.is_told
    window in_order as (
        partition by holds.joined_no, holds.chain_no, holds.try
        order by holds.first_us asc, holds.last_us asc, job_keys.job_key asc, holds.launch asc
        rows between unbounded preceding and 1 preceding
    )

),

parted as (

    select
        *,
        coalesce(
            first_us < reach_us
            or first_us = previous_first_us
            or (
                not is_launcher
                and silent_us = reach_us
                and first_us - reach_us <= 3600000000
            ),
            false
        ) as is_met,
        coalesce(
            first_rank is not null
            and ranks_us = reach_us
            and trained_us is distinct from reach_us
            and first_us - reach_us <= 120000000,
            false
        ) as is_near
    from lined_up

),

in_series as (

    select
        *,
        sum(case when is_met or is_near then 0 else 1 end) over (
            partition by joined_no, chain_no, try
            order by first_us asc, last_us asc, job_key asc, launch asc
            rows unbounded preceding
        ) as series
    from parted

),

counted as (

    select
        *,
        case when first_rank is not null then row_number() over (
            partition by joined_no, chain_no, try, series, first_rank
            order by first_us asc, last_us asc, job_key asc, launch asc
        ) end as times
    from in_series

),

compared as (

    select
        *,
        -- a rank that began more often than each before it is of the next launch
        times <= max(times) over (
            partition by joined_no, chain_no, try, series
            order by first_us asc, last_us asc, job_key asc, launch asc
            rows between unbounded preceding and 1 preceding
        ) as is_awaited
    from counted

)

select
    job_no,
    launch,
    joined_no,
    chain_no,
    try,
    first_us,
    job_key,
    concat(job_key, ' ', launch) as name,
    sum(case when is_met or (is_near and is_awaited) then 0 else 1 end) over (
        partition by joined_no, chain_no, try
        order by first_us asc, last_us asc, job_key asc, launch asc
        rows unbounded preceding
    ) as island
from compared
