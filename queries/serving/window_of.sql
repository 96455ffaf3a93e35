-- The measures of METRICS.md for one scope over the days that a reader chooses, all of them.
-- grain: one row
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    measures.*,  -- noqa: AM04
    jobs.*,
    saves.checkpoint_save_p50_seconds,
    saves.checkpoint_save_p90_seconds,
    saves.checkpoint_save_p99_seconds
from window_measures(chosen_team, chosen_workload, first_day, last_day) as measures
cross join window_jobs(chosen_team, chosen_workload, first_day, last_day) as jobs
cross join window_saves(chosen_team, chosen_workload, first_day, last_day) as saves
