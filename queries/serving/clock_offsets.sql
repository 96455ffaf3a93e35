-- How far the clocks of two sources that tell the same attempts are apart, as far as those attempts
-- show it: estimated and shown, never applied. Above zero: the source is ahead of its reference.
-- grain: one row per source, reference
with

ranked as (

    select
        source_no,
        reference_no,
        least_us,
        most_us,
        row_number() over (
            partition by source_no, reference_no
            order by least_us desc nulls last
        ) as from_greatest,
        row_number() over (
            partition by source_no, reference_no
            order by most_us asc
        ) as from_least,
        count(*) over (partition by source_no, reference_no) as attempts,
        count(least_us) over (partition by source_no, reference_no) as ended
    from warehouse.clock_bounds_kept

),

bounded as (

    select
        source_no,
        reference_no,
        count(*) as attempts,
        -- the strictest bounds, but for one in twenty that may be misplaced
        max(case when from_greatest = ended // 20 + 1 then least_us end) as low_us,
        max(case when from_least = attempts // 20 + 1 then most_us end) as high_us
    from ranked
    group by source_no, reference_no

)

select
    sources.source,
    others.source as reference,
    bounded.attempts,
    bounded.low_us / 1e6 as low_seconds,
    bounded.high_us / 1e6 as high_seconds,
    case
        when bounded.high_us < 0 or bounded.low_us > 0
            then (coalesce(bounded.low_us, bounded.high_us) + bounded.high_us) / 2e6
        else 0
    end as estimate_seconds
from bounded
inner join warehouse.sources as sources on bounded.source_no = sources.source_no
inner join warehouse.sources as others on bounded.reference_no = others.source_no
order by sources.source asc, others.source asc
