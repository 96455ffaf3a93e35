-- How the jobs of one team fare over all days: what a single job can be held against.
-- grain: one row
-- macro: chosen_team
select
    count(ett_ratio) as jobs,
    quantile_disc(ett_ratio, 0.5) as ett_p50_ratio
from jobs
where
    team = chosen_team
    and not is_excluded
    -- without GPUs it is outside every ratio
    and coalesce(gpus <> 0, true)
