-- Each gate that a regression was asked at: what was measured and what it takes to pass.
-- grain: one row per team, metric, started_on, gate
select
    team,
    metric,
    started_on,
    place,
    gate,
    value,
    limit_value,
    is_passed
from found_gates
order by team asc, metric asc, started_on asc, place asc
