-- Every series that is not told of now, why, and the smallest change that it would have shown
-- within 14 days in four cases of five (null: it cannot be judged, or none that can be: no share is
-- above all). A score (`evidence_ratio`) of 1 opens.
-- grain: one row per team, metric
select
    team,
    metric,
    held_back_by,
    case when not isnan(evidence_ratio) then evidence_ratio end as evidence_ratio,
    baseline_days,
    baseline_observations,
    case when not isnan(smallest_change_ratio) then smallest_change_ratio end
        as smallest_change_ratio,
    -- null: no value of it was ever held against a baseline
    judged_from
from found_quiet
order by team asc, metric asc
