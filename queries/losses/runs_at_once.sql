-- Attempts of which logs told at one time steps that cannot be of one run: where files are called
-- by their folder, two runs may have one name. What one log says falls back in no attempt, and logs
-- of one run count together, but for a clock or a pipe that lags by seconds.
-- grain: one row per job_no, attempt
with

steps as (

    select
        told.job_no,
        told.attempt,
        scoped.file_no,
        scoped.at_us,
        scoped.step
    from stg_numbered as told
    inner join scoped_events as scoped on told.row_no = scoped.row_no
    inner join sources on scoped.source_no = sources.source_no
    where
        sources.format in ('training-log', 'torchelastic')
        and scoped.event = 'progress'
        and scoped.step is not null

),

several as (

    select
        job_no,
        attempt
    from steps
    group by job_no, attempt
    having min(file_no) < max(file_no)

),

compared as (

    select
        steps.job_no,
        steps.attempt,
        steps.at_us,
        steps.step,
        max(steps.step) over (
            partition by steps.job_no, steps.attempt
            order by steps.at_us
            range between unbounded preceding and 10000000 preceding
        ) as reached
    from steps
    inner join several
        on
            steps.job_no = several.job_no
            and steps.attempt = several.attempt

)

select
    job_no,
    attempt,
    min(at_us) as first_us,
    min_by(reached, (at_us, step)) as fell_from,
    min_by(step, (at_us, step)) as fell_to
from compared
where step < reached
group by job_no, attempt
