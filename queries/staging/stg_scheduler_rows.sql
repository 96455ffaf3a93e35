-- One row of a scheduler's accounting as its newest dump tells it, with its chain and attempt.
-- A chain of rows is one logical job: it goes on only after a requeue (docs/adr/0004). The row
-- before says so, or its own count of restarts: a job that had ended is requeued without a word.
-- grain: one row per base_job_no, row_key
-- empty without: scoped_events.row_key
with

told as (

    select
        scoped.job_no,
        scoped.row_key,
        scoped.row_submitted_us,
        scoped.row_state,
        scoped.event,
        scoped.at_us,
        files.clock_us,
        -- what stands inside a comment is escaped
        case
            when scoped.event = 'job'
                then coalesce(regexp_matches(scoped.attrs, '"Restarts": "0*[1-9]'), false)
            else false
        end as is_restarted,
        case when scoped.row_state in (
            'PENDING', 'RUNNING', 'SUSPENDED', 'COMPLETING', 'CONFIGURING', 'STOPPED',
            'SIGNALING', 'STAGE_OUT', 'RESV_DEL_HOLD', 'REQUEUE_FED', 'REQUEUE_HOLD'
        ) then 1 else 0 end as is_live
    from scoped_events as scoped
    inner join files on scoped.file_no = files.file_no
    where scoped.row_key is not null

),

states as (

    select
        job_no,
        row_key,
        row_submitted_us,
        row_state,
        is_live,
        bool_or(is_restarted) over (partition by job_no, row_key) as is_restarted,
        row_number() over (
            partition by job_no, row_key
            -- a terminal state beats a live one, then the dump taken later wins
            order by is_live asc, clock_us desc, row_state desc, row_submitted_us desc
        ) as precedence
    from told

),

starts as (

    select
        job_no,
        row_key,
        at_us as started_us,
        row_number() over (
            partition by job_no, row_key
            order by clock_us desc, at_us desc
        ) as precedence
    from told
    where event = 'attempt_start'

),

told_rows as (

    select
        states.job_no,
        states.row_key,
        states.row_submitted_us,
        states.row_state,
        states.is_restarted,
        coalesce(cuts.started_us, starts.started_us) as started_us,
        -- a local submission may be told an hour too early, a start is told by the length
        coalesce(cuts.started_us, starts.started_us, states.row_submitted_us) as placed_us
    from states
    left join starts
        on
            states.job_no = starts.job_no
            and states.row_key = starts.row_key
            and starts.precedence = 1
    left join stg_scheduler_cuts as cuts
        on
            states.job_no = cuts.job_no
            and states.row_key = cuts.row_key
    where states.precedence = 1

),

followed as (

    select
        *,
        row_number() over in_order as place,
        lag(row_state) over in_order as previous_state
    from told_rows
    window in_order as (
        partition by job_no
        order by
            placed_us asc nulls last,
            row_submitted_us asc nulls last,
            started_us asc nulls last,
            row_key asc
    )

),

chained as (

    select
        *,
        sum(
            case
                when
                    previous_state in (
                        'REQUEUED', 'SPECIAL_EXIT', 'PREEMPTED', 'NODE_FAIL', 'RESIZING'
                    )
                    or (is_restarted and previous_state is not null)
                    then 0
                else 1
            end
        ) over (
            partition by job_no
            order by place asc
            rows unbounded preceding
        ) as chain
    from followed

),

numbered as (

    select
        *,
        sum(
            case when started_us is null or previous_state = 'RESIZING' then 0 else 1 end
        ) over (
            partition by job_no, chain
            order by place asc
            rows unbounded preceding
        ) as tries,
        min(row_submitted_us) over (partition by job_no, chain) as chain_submitted_us
    from chained

)

select
    job_no as base_job_no,
    row_key,
    -- JobIDs are reused: a later chain is another job, numbered past every job of the dictionary
    cast(job_no + (chain - 1) * 4294967296 as bigint) as job_no,
    cast(chain as bigint) as chain,
    chain_submitted_us,
    row_submitted_us,
    started_us,
    -- a row that still waits is waiting for the next try
    cast(greatest(tries + case when started_us is null then 1 else 0 end, 1) as bigint) as attempt,
    row_state
from numbered
