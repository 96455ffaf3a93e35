-- GPUs of each attempt: its own newest word, else the job's newest. Null: no source says.
-- grain: one row per job_no, attempt
with

told as (

    select
        job_no,
        attempt,
        at_us,
        gpus,
        case when event = 'job' then 0 else 1 end as is_own
    from stg_events
    where
        gpus is not null
        and event <> 'change'

),

own as (

    select
        job_no,
        attempt,
        gpus,
        row_number() over (
            partition by job_no, attempt
            order by at_us desc, gpus desc
        ) as precedence
    from told
    where is_own = 1

),

of_job as (

    select
        job_no,
        gpus,
        row_number() over (
            partition by job_no
            order by at_us desc, gpus desc
        ) as precedence
    from told

)

select
    attempt_bounds.job_no,
    attempt_bounds.attempt,
    coalesce(own.gpus, of_job.gpus) as gpus
from attempt_bounds
left join own
    on
        attempt_bounds.job_no = own.job_no
        and attempt_bounds.attempt = own.attempt
        and own.precedence = 1
left join of_job
    on
        attempt_bounds.job_no = of_job.job_no
        and of_job.precedence = 1
