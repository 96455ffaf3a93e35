-- The preemption ratio of each complete day beside how many jobs ran, and the line through the days
-- before the last seven: least squares, a day weighing as much as attempts ended on it.
-- Null where fewer than seven days are left for a line, or all had equally many jobs.
-- grain: one row per day
-- macro: chosen_team, chosen_workload, first_day, last_day
with

daily as (

    select
        day,
        jobs_running,
        attempts_ended,
        preempted,
        preemption_ratio,
        date_diff('day', day, last_day::date) < 7 as is_recent
    from team_day
    where
        team = chosen_team
        and workload = chosen_workload
        and day between first_day and last_day
        and is_complete
        and attempts_ended > 0

),

moments as (

    select
        count(*) as days,
        sum(attempts_ended) as weight,
        sum(attempts_ended * jobs_running) as x,
        sum(preempted) as y,
        sum(attempts_ended * jobs_running * jobs_running) as xx,
        sum(preempted * jobs_running) as xy
    from daily
    where not is_recent

),

line as (

    select
        case
            when days >= 7 then (weight * xy - x * y) / nullif(weight * xx - x * x, 0)
        end as ratio_per_job,
        (y - ratio_per_job * x) / weight as ratio_at_no_jobs
    from moments

)

select
    daily.*,
    line.ratio_per_job,
    line.ratio_at_no_jobs + line.ratio_per_job * daily.jobs_running as fitted_ratio,
    -- how far a day usually is from the line, and how far the last seven are together
    sqrt(
        sum(
            case when not daily.is_recent then daily.attempts_ended end
            * power(daily.preemption_ratio - fitted_ratio, 2)
        ) over ()
        / sum(case when not daily.is_recent then daily.attempts_ended end) over ()
    ) as usual_distance_ratio,
    sum(
        case when daily.is_recent then daily.preempted - fitted_ratio * daily.attempts_ended end
    ) over ()
    / sum(case when daily.is_recent then daily.attempts_ended end) over () as recent_distance_ratio
from daily
cross join line
