-- The sixty days around a regression: the series with the band of its usual days, and the same
-- measure of other teams beside it.
-- grain: one row per team, metric, started_on, series_team, day
select
    team,
    metric,
    started_on,
    series_team,
    day,
    attempts,
    observed,
    expected,
    low,
    high
from found_points
order by team asc, metric asc, started_on asc, series_team asc, day asc
