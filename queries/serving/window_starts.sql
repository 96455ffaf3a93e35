-- How many attempts of one scope ended without ever training, by day and over all the days that a
-- reader chooses (day null). Attempts that still run may yet train, and are not counted.
-- grain: one row per day
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    ended_day as day,
    count(*) as attempts_ended,
    count(*) filter (where first_batch_at is null) as never_trained
from attempts
where
    is_counted
    and is_instrumented
    and not is_open
    and (chosen_team = 'fleet' or team = chosen_team)
    and (chosen_workload = 'all' or workload = chosen_workload)
    and ended_day between first_day and last_day
group by grouping sets ((ended_day), ())
