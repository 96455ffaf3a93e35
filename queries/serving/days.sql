-- Every day from the first to the newest with data. A day is complete when the clock of every
-- source that spoke in the last seven days has passed its end.
-- grain: one row per day
with

clocks as (

    select min(clock_us) as slowest_us
    from warehouse.sources
    where clock_us >= (
        select max(newest.clock_us) - 604800000000 from warehouse.sources as newest
    )

),

bounds as (

    select
        min(day) as first_day,
        max(day) as newest_day
    from warehouse.team_day_sums_kept

)

select
    calendar.day,
    coalesce(calendar.to_us <= (select slowest_us from clocks), false) as is_complete
from calendar
inner join bounds on calendar.day between bounds.first_day and bounds.newest_day
order by calendar.day asc
