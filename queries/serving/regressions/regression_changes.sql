-- What was rolled out for the same team, or for all, in the days up to a regression's first.
-- grain: one row per team, metric, started_on, changed_at, name
select
    found.team,
    found.metric,
    found.started_on,
    changes.changed_at,
    changes.name,
    changes.team as change_team,
    changes.description,
    found.started_on - changes.day as days_before
from found_regressions as found
inner join changes
    on
        (changes.team is null or found.team = changes.team or found.team = 'fleet')
        -- the first day is uncertain by a day or two
        and changes.day between found.started_on - 3 and found.started_on + 1
order by found.team asc, found.metric asc, found.started_on asc, changes.changed_at asc
