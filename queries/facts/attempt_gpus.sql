-- GPUs of each attempt: what the scheduler gave, else its own newest word, else the job's newest.
-- Null: no source says.
-- grain: one row per job_no, attempt
with

told as (

    select
        job_no,
        attempt,
        at_us,
        gpus,
        is_scheduler,
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
        is_scheduler,
        row_number() over (
            partition by job_no, attempt
            order by is_scheduler desc, at_us desc, gpus desc
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

),

-- what the scheduler said at the start of an allocation holds for the restarts inside it
given as (

    select
        pieces.job_no,
        pieces.chain_no,
        pieces.try,
        own.gpus
    from stg_pieces as pieces
    inner join own
        on
            pieces.job_no = own.job_no
            and pieces.attempt = own.attempt
            and own.precedence = 1
            and own.is_scheduler

),

held as (

    select
        pieces.job_no,
        pieces.attempt,
        max(given.gpus) as gpus
    from stg_pieces as pieces
    inner join given
        on
            pieces.job_no = given.job_no
            and pieces.chain_no = given.chain_no
            and pieces.try = given.try
    group by pieces.job_no, pieces.attempt

)

select
    attempt_bounds.job_no,
    attempt_bounds.attempt,
    coalesce(held.gpus, own.gpus, of_job.gpus) as gpus
from attempt_bounds
left join own
    on
        attempt_bounds.job_no = own.job_no
        and attempt_bounds.attempt = own.attempt
        and own.precedence = 1
left join held
    on
        attempt_bounds.job_no = held.job_no
        and attempt_bounds.attempt = held.attempt
left join of_job
    on
        attempt_bounds.job_no = of_job.job_no
        and of_job.precedence = 1
