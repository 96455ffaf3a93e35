-- The end of each attempt, as the sources tell it; contradictions resolved by METRICS.md section 1.
-- grain: one row per job_no, attempt
with

told as (

    select
        events.row_no,
        events.job_no,
        events.attempt,
        events.at_us as ended_us,
        coalesce(
            cast(events.outcome as varchar),
            case when events.exit_code = 0 then 'completed' else 'failed' end
        ) as outcome,
        events.exit_code,
        events.signal,
        events.message,
        events.category,
        events.is_scheduler,
        events.launch,
        events.evidence_line,
        events.file_no
    from stg_events as events
    inner join attempt_bounds as bounds
        on
            events.job_no = bounds.job_no
            and events.attempt = bounds.attempt
    where
        events.event = 'attempt_end'
        and (
            -- an end before the start is ignored
            events.at_us >= coalesce(
                least(bounds.first_scheduling_us, bounds.first_start_us), bounds.first_event_us
            )
            -- but for the scheduler's, which may be told by another clock than a later start
            or (events.is_scheduler and bounds.is_joined)
        )

),

weighed as (

    select
        *,
        coalesce(launch is not null and outcome = 'failed' and signal = 15, false) as got_sigterm,
        launch is not null
        and case
            -- SIGTERM tells a launcher that somebody stopped the attempt, not who or why: where
            -- that is told as well, it is how the attempt ended
            when got_sigterm
                then bool_or(outcome in ('preempted', 'timeout', 'cancelled')) over each_attempt
            -- Slurm cancels the step of which a task failed, on all its nodes: nobody else did; and
            -- a process that closed with nothing to reach may have been left by an exception
            when
                (outcome = 'cancelled' and coalesce(message like '%*** STEP %', false))
                or (outcome = 'completed' and coalesce(message like 'no target was stated%', false))
                then
                    bool_or(
                        launch is not null
                        and outcome = 'failed'
                        and signal is distinct from 15
                    ) over each_attempt
            else false
        end as yields,
        max(ended_us) over each_attempt as last_ended_us
    from told
    window each_attempt as (partition by job_no, attempt)

),

-- who was told to stop may save and go: a log of its own tells of that
stopped as (

    select
        job_no,
        attempt,
        max(last_ended_us) as stopped_us
    from weighed
    group by job_no, attempt
    having bool_or(got_sigterm) and not bool_or(is_scheduler)

),

gone as (

    select
        stopped.job_no,
        stopped.attempt,
        max(greatest(events.at_us, coalesce(events.end_us, events.at_us))) as gone_us
    from stopped
    inner join stg_events as events
        on
            stopped.job_no = events.job_no
            and stopped.attempt = events.attempt
    where
        events.event not in ('job', 'change')
        and (events.phase is null or events.phase <> 'queue')
        -- torchrun kills what is there after 30 s
        and greatest(events.at_us, coalesce(events.end_us, events.at_us))
        between stopped.stopped_us and stopped.stopped_us + 30000000
    group by stopped.job_no, stopped.attempt

),

ranked as (

    select
        *,
        row_number() over (
            partition by job_no, attempt
            order by
                is_scheduler desc,
                yields asc,
                ended_us desc,  -- the latest wins; at a tie preempted before timeout before failed
                case outcome
                    when 'preempted' then 1
                    when 'timeout' then 2
                    when 'failed' then 3
                    when 'cancelled' then 4
                    else 5
                end asc,
                category desc nulls last,
                message asc nulls last,
                exit_code asc nulls last,
                signal asc nulls last,
                launch asc nulls last,
                evidence_line asc nulls last,
                file_no asc,
                row_no asc
        ) as precedence
    from weighed

)

select
    ranked.row_no,
    ranked.job_no,
    ranked.attempt,
    case
        when ranked.is_scheduler then ranked.ended_us
        else coalesce(gone.gone_us, ranked.last_ended_us)
    end as ended_us,
    ranked.outcome,
    ranked.exit_code,
    ranked.signal,
    ranked.message,
    ranked.category,
    ranked.is_scheduler,
    ranked.launch
from ranked
left join gone
    on
        ranked.job_no = gone.job_no
        and ranked.attempt = gone.attempt
where ranked.precedence = 1
