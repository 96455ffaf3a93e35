-- What else moved with a regression: the same cause, seen in other measures or in other teams.
-- grain: one row per team, metric, started_on, symptom_team, symptom_metric
select
    team,
    metric,
    started_on,
    symptom_team,
    symptom_metric,
    symptom_started_on,
    observed,
    expected,
    change_ratio
from found_symptoms
order by
    team asc,
    metric asc,
    started_on asc,
    symptom_started_on asc,
    symptom_team asc,
    symptom_metric asc
