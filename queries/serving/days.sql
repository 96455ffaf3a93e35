-- Every day from the first with data to the newest, with data or complete. A day is complete when
-- the clock of every source that spoke in the last seven days has passed its end, and that of every
-- cluster of it that has one, whether anything ran on it or not.
-- grain: one row per day
with

told as (

    select coalesce(parted.clock_us, sources.clock_us) as clock_us
    from warehouse.sources as sources
    left join warehouse.cluster_clocks as parted on sources.source_no = parted.source_no

),

clocks as (

    select min(clock_us) as slowest_us
    from told
    where clock_us >= (select max(newest.clock_us) - 604800000000 from told as newest)

),

bounds as (

    select
        min(day) as first_day,
        max(day) as newest_day
    from warehouse.team_day_sums_kept

)

select
    calendar.day,
    coalesce(calendar.to_us <= clocks.slowest_us, false) as is_complete
from calendar
inner join bounds on calendar.day >= bounds.first_day
cross join clocks
where
    calendar.day <= bounds.newest_day
    or calendar.to_us <= clocks.slowest_us
order by calendar.day asc
