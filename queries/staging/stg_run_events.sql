-- What trainers say in jobs whose attempts are put together here, with what tells launches apart.
-- grain: one row per row_no
-- empty without: woven_jobs
with

-- a native job whose id is a number is the scheduler's, as was noted with its events
numbers as (

    select
        woven.job_no,
        links.scheduler_job
    from woven_jobs as woven
    inner join job_keys on woven.job_no = job_keys.job_no
    inner join job_links as links
        on
            job_keys.job_no = links.job_no
            and job_keys.job_key = links.scheduler_job
    group by woven.job_no, links.scheduler_job

),

-- who counts its tries by the scheduler's restarts counts anew in the next job of the scheduler
counted_anew as (

    select
        job_no,
        attempt
    from scoped_events
    where
        attempt is not null
        and scheduler_job is not null
    group by job_no, attempt
    having min(scheduler_job) <> max(scheduler_job)

)

select
    scoped.row_no,
    scoped.job_no,
    scoped.source_no,
    scoped.at_us,
    greatest(scoped.at_us, coalesce(scoped.end_us, scoped.at_us)) as last_us,
    -- an attempt that the dump itself numbers is a launch of its own, whatever else it says
    case
        when counted_anew.attempt is not null
            then concat('attempt ', scoped.attempt, ' of ', scoped.scheduler_job)
        when scoped.attempt is not null then concat('attempt ', scoped.attempt)
        when scoped.run_key is not null then concat('run ', sources.format, ' ', scoped.run_key)
    end as launch,
    scoped.attempt,
    case when scoped.attempt is null then scoped.run_generation end as generation,
    scoped.run_restart,
    coalesce(scoped.scheduler_job, numbers.scheduler_job) as scheduler_job,
    case
        when coalesce(scoped.scheduler_job, numbers.scheduler_job) is not null then scoped.cluster
    end as cluster,
    scoped.event = 'failure' as is_failure,
    coalesce(scoped.phase = 'queue', false) as is_queue,
    scoped.event = 'attempt_start' as is_begin,
    -- of several processes the one that says that it began
    case when scoped.event = 'attempt_start' then scoped.rank end as begun_rank,
    scoped.event = 'progress' or coalesce(scoped.phase = 'training', false) as is_training,
    scoped.event = 'attempt_end' as is_end,
    -- of a launcher, which does not hear what its workers do; an own one tells native events, of
    -- which none is a word of workers
    not sources.says_training
    or (
        sources.format = 'events'
        and scoped.event <> 'progress'
        and coalesce(
            scoped.phase in ('queue', 'scheduling', 'hardware_setup', 'launcher_init'), true
        )
    ) as is_launcher,
    -- what only workers can say
    coalesce(
        scoped.event = 'phase_start'
        and scoped.phase not in ('queue', 'scheduling', 'hardware_setup', 'launcher_init'),
        false
    ) as is_work,
    -- neither a word on the job nor its queueing makes an attempt
    scoped.event <> 'job' and (scoped.phase is null or scoped.phase <> 'queue') as is_life
from scoped_events as scoped
inner join woven_jobs as woven on scoped.job_no = woven.job_no
inner join sources on scoped.source_no = sources.source_no
left join counted_anew
    on
        scoped.job_no = counted_anew.job_no
        and scoped.attempt = counted_anew.attempt
left join numbers
    on
        scoped.job_no = numbers.job_no
        and sources.format = 'events'
where
    scoped.row_key is null
    and scoped.event <> 'change'
    and scoped.row_no not in (select superseded.row_no from stg_superseded as superseded)
