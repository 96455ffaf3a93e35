-- The logical job and attempt of what a scheduler says of a joined job: starts and queues go to the
-- first attempt of their allocation, ends to the last, signs of life to the one of their time.
-- grain: one row per row_no
-- empty without: woven_jobs
with

held as (

    select
        chain_no,
        try,
        min(attempt) as first_attempt,
        max(attempt) as last_attempt
    from stg_pieces
    where chain_no is not null
    group by chain_no, try

),

reached as (

    select
        job_no,
        max(attempt) as last_attempt
    from stg_pieces
    group by job_no

),

alive as (

    select
        events.row_no,
        max(pieces.attempt) as attempt
    from stg_scheduler_events as events
    inner join stg_pieces as pieces
        on
            events.job_no = pieces.chain_no
            and events.attempt = pieces.try
            and events.at_us >= pieces.from_us
    where
        events.event = 'alive'
        or (events.event = 'attempt_end' and events.row_state = 'RESIZING')
    group by events.row_no

)

select
    events.row_no,
    joined.job_no,
    cast(
        case
            -- a row that has not started waits for what comes next
            when held.chain_no is null then coalesce(reached.last_attempt, 0) + 1
            when alive.row_no is not null then alive.attempt
            when events.event = 'attempt_end' and events.row_state <> 'RESIZING'
                then held.last_attempt
            else held.first_attempt
        end as bigint
    ) as attempt
from stg_scheduler_events as events
inner join woven_jobs as woven on events.base_job_no = woven.job_no
inner join stg_joined_jobs as joined on events.job_no = joined.member_no
left join held
    on
        events.job_no = held.chain_no
        and events.attempt = held.try
left join reached on joined.job_no = reached.job_no
left join alive on events.row_no = alive.row_no
