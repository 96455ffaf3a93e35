-- One life of a trainer as one source numbers or keys it. What a job says outside of any, under a
-- job of the scheduler of which no launch speaks, is a nameless one.
-- grain: one row per job_no, launch
-- empty without: woven_jobs
with

stated as (

    select
        job_no,
        scheduler_job,
        max(cluster) as cluster
    from stg_run_events
    where scheduler_job is not null
    group by job_no, scheduler_job

),

-- what a job says of itself in one place holds where it does not say it
only_stated as (

    select
        job_no,
        max(scheduler_job) as scheduler_job
    from stated
    group by job_no
    having count(*) = 1

),

keyed as (

    select
        job_no,
        launch,
        min(case when is_life then at_us end) as first_us,
        max(case when is_life then last_us end) as last_us,
        max(scheduler_job) as scheduler_job,
        max(run_restart) as run_restart,
        bool_and(is_launcher) as is_launcher,
        -- of what began last it does not say that it is over
        bool_and(is_launcher)
        and not coalesce(
            max(case when is_end then at_us end)
            >= coalesce(max(case when is_begin or is_work then at_us end), 0),
            false
        ) as is_silent,
        -- one that a dump numbers as an attempt is no rank's
        min(case when attempt is null then begun_rank end) as first_rank,
        bool_or(is_training) as has_trained
    from stg_run_events
    where launch is not null
    group by job_no, launch
    having bool_or(is_life)

),

named as (

    select
        keyed.job_no,
        keyed.launch,
        keyed.first_us,
        keyed.last_us,
        coalesce(keyed.scheduler_job, only_stated.scheduler_job) as scheduler_job,
        keyed.run_restart,
        keyed.is_launcher,
        keyed.is_silent,
        keyed.first_rank,
        keyed.has_trained,
        true as is_named,
        true as is_alive
    from keyed
    left join only_stated on keyed.job_no = only_stated.job_no

),

loose as (

    select
        events.job_no,
        coalesce(events.scheduler_job, only_stated.scheduler_job) as scheduler_job,
        coalesce(
            min(case when events.is_life then events.at_us end), min(events.at_us)
        ) as first_us,
        coalesce(
            max(case when events.is_life then events.last_us end), max(events.last_us)
        ) as last_us,
        max(events.run_restart) as run_restart,
        bool_or(events.is_life) as is_alive,
        bool_or(events.is_training) as has_trained
    from stg_run_events as events
    left join only_stated on events.job_no = only_stated.job_no
    left join keyed
        on
            events.job_no = keyed.job_no
            and events.launch = keyed.launch
    where keyed.job_no is null
    group by events.job_no, coalesce(events.scheduler_job, only_stated.scheduler_job)

),

spoken_for as (

    select
        loose.*,
        max(case when loose.scheduler_job is not null then 1 else 0 end) over (
            partition by loose.job_no
        ) as others
    from loose
    left join named
        on
            loose.job_no = named.job_no
            and coalesce(loose.scheduler_job, named.scheduler_job, '')
            = coalesce(named.scheduler_job, '')
    where named.job_no is null

),

launched as (

    select * from named

    union all

    select
        job_no,
        concat('nameless ', scheduler_job) as launch,
        first_us,
        last_us,
        scheduler_job,
        run_restart,
        false as is_launcher,
        false as is_silent,
        cast(null as bigint) as first_rank,
        has_trained,
        false as is_named,
        is_alive
    from spoken_for
    where
        scheduler_job is not null
        or others = 0

)

select
    launched.job_no,
    launched.launch,
    launched.first_us,
    launched.last_us,
    launched.scheduler_job,
    stated.cluster,
    launched.run_restart,
    launched.is_launcher,
    launched.is_silent,
    launched.first_rank,
    launched.has_trained,
    launched.is_named,
    launched.is_alive
from launched
left join stated
    on
        launched.job_no = stated.job_no
        and launched.scheduler_job = stated.scheduler_job
