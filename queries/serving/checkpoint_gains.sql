-- The fifty jobs of one scope with the most to gain at their best interval, in seconds or
-- GPU-seconds as `chosen_weight` says. Interval and blocking are medians over the job's attempts.
-- grain: one row per job_id
-- macro: chosen_team, chosen_workload, first_day, last_day, chosen_weight
with

modelled as (

    select
        job_id,
        team,
        gpus,
        saves,
        interval_seconds,
        best_interval_seconds,
        blocked_seconds,
        gain_seconds * weight as gain_seconds
    from modelled_checkpoints(chosen_team, chosen_workload, first_day, last_day, chosen_weight)
    where gain_seconds is not null

),

dearest as (

    select
        job_id,
        sum(gain_seconds) as gain_seconds
    from modelled
    group by job_id
    order by sum(gain_seconds) desc nulls last, job_id asc
    limit 50

)

select
    dearest.job_id,
    any_value(modelled.team) as team,
    max(modelled.gpus) as gpus,
    count(*) as attempts,
    cast(sum(modelled.saves) as bigint) as saves,
    any_value(dearest.gain_seconds) as gain_seconds,
    quantile_disc(modelled.interval_seconds, 0.5) as interval_seconds,
    quantile_disc(modelled.best_interval_seconds, 0.5) as best_interval_seconds,
    quantile_disc(modelled.blocked_seconds, 0.5) as blocked_seconds
from dearest
inner join modelled on dearest.job_id = modelled.job_id
group by dearest.job_id
