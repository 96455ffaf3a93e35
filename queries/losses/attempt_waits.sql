-- TTS, TTR and queueing of each attempt: METRICS.md sections 2 and 4.
-- grain: one row per job_no, attempt
with

queue_reach as (

    select
        attempt_no,
        from_us,
        to_us,
        max(to_us) over (
            partition by attempt_no
            order by from_us asc, to_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from phase_spans
    where
        phase = 'queue'
        and to_us > from_us

),

queued as (

    select
        attempt_no,
        cast(
            sum(greatest(to_us - greatest(from_us, coalesce(reach_us, from_us)), 0)) as bigint
        ) as queue_us
    from queue_reach
    group by attempt_no

),

last_scheduling as (

    select
        attempt_no,
        max(to_us) as to_us
    from phase_spans
    where phase = 'scheduling'
    group by attempt_no

),

told as (

    select
        windows.attempt_no,
        windows.job_no,
        windows.attempt,
        windows.outcome,
        windows.outcome in ('failed', 'preempted', 'timeout', 'lost') as is_interruption,
        windows.started_us,
        windows.ended_us,
        first_batches.first_batch_us,
        coalesce(windows.first_start_us, last_scheduling.to_us, windows.started_us)
            as allocated_us,
        -- a dump that begins in the middle of a run says nothing of its start
        windows.first_start_us is null
        and last_scheduling.to_us is null
        and first_batches.first_batch_us = windows.started_us as is_met_training,
        coalesce(first_batches.last_trained_us, windows.ended_us) as interrupted_us,
        lag(windows.outcome) over in_job in ('failed', 'preempted', 'timeout', 'lost')
            as follows_interruption,
        case
            when lag(windows.outcome) over in_job in ('failed', 'preempted', 'timeout', 'lost')
                then greatest(windows.started_us - lag(windows.ended_us) over in_job, 0)
            else coalesce(queued.queue_us, 0)
        end as queue_us,
        -- a first batch or a wanted end closes a recovery
        case
            when first_batches.first_batch_us is not null then 1
            when windows.outcome in ('completed', 'cancelled') then 1
            else 0
        end as is_closing
    from attempt_windows as windows
    left join first_batches on windows.attempt_no = first_batches.attempt_no
    left join last_scheduling on windows.attempt_no = last_scheduling.attempt_no
    left join queued on windows.attempt_no = queued.attempt_no
    window in_job as (partition by windows.job_no order by windows.attempt asc)

),

numbered as (

    select
        *,
        -- attempts between two closings are one try at recovering
        coalesce(sum(is_closing) over (
            partition by job_no
            order by attempt asc
            rows between unbounded preceding and 1 preceding
        ), 0) as try,
        lag(is_closing) over (partition by job_no order by attempt asc) as follows_closing,
        sum(queue_us) over (
            partition by job_no
            order by attempt asc
            rows unbounded preceding
        ) as queued_us,
        lag(interrupted_us) over (partition by job_no order by attempt asc)
            as previous_interrupted_us
    from told

),

opened as (

    select
        *,
        -- a recovery opens with the interruption of the attempt that last trained, or with the
        -- first attempt after a wanted end that died before it trained
        first_value(
            case
                when follows_closing = 1 and follows_interruption then previous_interrupted_us
                when is_interruption and first_batch_us is null then interrupted_us
            end ignore nulls
        ) over in_try as open_since_us,
        first_value(
            case
                when follows_closing = 1 and follows_interruption then queued_us - queue_us
                when is_interruption and first_batch_us is null then queued_us
            end ignore nulls
        ) over in_try as queued_before_us
    from numbered
    window in_try as (
        partition by job_no, try
        order by attempt asc
        rows between unbounded preceding and current row
    )

)

select
    attempt_no,
    job_no,
    attempt,
    allocated_us,
    case when is_interruption then interrupted_us end as interrupted_us,
    queue_us,
    case
        when attempt = 1 and first_batch_us >= allocated_us and not is_met_training
            then first_batch_us - allocated_us
    end as tts_us,
    -- clocks that contradict one another give no time to recover rather than a negative one
    case when first_batch_us >= open_since_us then first_batch_us - open_since_us end as ttr_us,
    case
        when first_batch_us - open_since_us >= queued_us - queued_before_us
            then
                cast(first_batch_us - open_since_us - (queued_us - queued_before_us) as bigint)
    end as ttr_without_queue_us
from opened
