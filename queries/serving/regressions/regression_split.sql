-- The change of the mean from the days before to the days of a regression, as speed (the same
-- work takes longer) and mix (other work): they sum to it exactly.
-- All are in the unit of the series: seconds, ratios, or failures per 1,000 GPU-days (where
-- no GPUs are known at all: per 1,000 attempt-days). Where nothing ran before there is none: all
-- would seem other work.
-- grain: one row per team, metric, started_on
select
    team,
    metric,
    started_on,
    sum(before_share * before_value) as before_mean,
    sum(after_share * after_value) as after_mean,
    coalesce(sum(after_share * after_value), 0) - coalesce(sum(before_share * before_value), 0)
        as mean_change,
    sum(speed_change) as speed_change,
    sum(mix_change) as mix_change
from regression_classes
group by team, metric, started_on
having sum(before_share) > 0 and sum(after_share) > 0
order by team asc, metric asc, started_on asc
