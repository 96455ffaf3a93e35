-- How the jobs of one team fare over all days: what a single job can be held against.
-- grain: one row
-- macro: chosen_team
select
    count(coalesce(ett_gpu_ratio, ett_ratio)) as jobs,
    -- by wall time where its GPUs are unknown, as the job itself is told
    quantile_disc(coalesce(ett_gpu_ratio, ett_ratio), 0.5) as ett_p50_ratio
from jobs
where
    team = chosen_team
    and not is_excluded
    -- without GPUs it is outside every ratio
    and coalesce(gpus <> 0, true)
