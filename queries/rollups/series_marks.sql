-- A mark for all that the detector and its evidence read of a day: two equal ones, and nothing that
-- it told has changed. Hashes are DuckDB's own; the figures elsewhere do without them.
-- grain: one row per day
with

told as (

    select
        cells.day,
        hash('cell', cells) as mark
    from series_cells as cells

    union all

    select
        ends.day,
        -- of what no source looked into the ends are all that it has
        hash('end', ends, names.job_id) as mark
    from series_ends as ends
    inner join job_names_kept as names on ends.job_no = names.job_no

    union all

    select
        observations.day,
        hash('observation', observations) as mark
    from series_observations as observations

    union all

    select
        shares.day,
        hash('share', shares, names.job_id) as mark
    from series_shares as shares
    inner join job_names_kept as names on shares.job_no = names.job_no

)

select
    day,
    count(*) as rows,
    cast(sum(mark) as hugeint) as mark
from told
group by day
