-- What each team adds to a change of the fleet; the shares sum to 1.
-- grain: one row per team, metric, started_on, series_team
select
    team,
    metric,
    started_on,
    series_team,
    share,
    change_ratio
from found_teams
order by team asc, metric asc, started_on asc, share desc
