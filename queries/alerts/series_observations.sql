-- Every latency of every attempt that is watched, with the class of work it belongs to.
-- grain: one row per job_no, attempt, metric, day
with

observed as (

    select
        *,
        cast(round(1e6 * ln(us)) as bigint) as log_us_e6,
        us as whole_us
    from series_starts

    union all by name

    select
        *,
        cast(round(1e6 * ln(us)) as bigint) as log_us_e6,
        us as whole_us
    from series_stages

    union all by name

    select
        *,
        cast(round(1e6 * ln(us)) as bigint) as log_us_e6,
        us as whole_us
    from series_stops

    union all by name

    select *
    from series_saves

)

select
    job_no,
    attempt,
    team,
    metric,
    day,
    workload,
    gpus,
    trial,
    model,
    us,
    whole_us,
    -- below a tenth of a second there is nothing to win, and logs run away
    greatest(log_us_e6, 11512925) - 13815511 as log_seconds_e6
from observed
