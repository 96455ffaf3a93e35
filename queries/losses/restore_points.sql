-- Where each interrupted attempt's work was taken up again: METRICS.md section 3.
-- grain: one row per job_no, attempt
with

-- of one whose training lost its start
worked as (

    select
        job_no,
        attempt
    from checkpoints

    union

    select
        job_no,
        attempt
    from stg_events
    where event = 'progress'

),

-- the next attempt that trained, or says what it restored: one that died before knows nothing
followed as (

    select
        windows.job_no,
        windows.attempt,
        windows.ended_us,
        windows.outcome,
        min(
            case
                when
                    first_batches.attempt_no is not null
                    or worked.attempt is not null
                    or resumes.resumed_from_step is not null
                    then windows.attempt
            end
        ) over (
            partition by windows.job_no
            order by windows.attempt asc
            rows between 1 following and unbounded following
        ) as next_attempt
    from attempt_windows as windows
    left join first_batches on windows.attempt_no = first_batches.attempt_no
    left join worked
        on
            windows.job_no = worked.job_no
            and windows.attempt = worked.attempt
    left join resumes
        on
            windows.job_no = resumes.job_no
            and windows.attempt = resumes.attempt

),

interrupted as (

    select
        windows.job_no,
        windows.attempt,
        windows.ended_us,
        windows.next_attempt,
        followers.started_us as resumed_us,
        resumes.resumed_from_step
    from followed as windows
    left join attempt_windows as followers
        on
            windows.job_no = followers.job_no
            and windows.next_attempt = followers.attempt
    left join resumes
        on
            windows.job_no = resumes.job_no
            and windows.next_attempt = resumes.attempt
    where
        windows.outcome in ('failed', 'preempted', 'timeout', 'lost')
        or (windows.outcome = 'cancelled' and resumes.resumed_from_step is not null)

),

-- a scheduler's row ends when it tells the job to stop, and only then the job saves
captures as (

    select
        job_no,
        attempt,
        step,
        captured_us,
        durable_us,
        false as is_late
    from checkpoints

    union all

    select
        windows.job_no,
        windows.attempt,
        events.step,
        events.at_us as captured_us,
        cast(null as bigint) as durable_us,
        true as is_late
    from phase_events as events
    inner join attempt_windows as windows on events.attempt_no = windows.attempt_no
    where
        events.phase = 'checkpoint_save'
        and not events.is_end
        and events.at_us > windows.window_end_us

),

saved as (

    select
        interrupted.job_no,
        interrupted.attempt,
        max(captures.captured_us) as restore_us
    from interrupted
    inner join captures
        on
            interrupted.job_no = captures.job_no
            and interrupted.attempt >= captures.attempt
    where
        case
            -- what was restored was durable, whatever its upload said
            when interrupted.resumed_from_step is not null
                then
                    captures.step <= interrupted.resumed_from_step
                    and captures.captured_us <= case
                        when captures.is_late then interrupted.resumed_us
                        else interrupted.ended_us
                    end
            else captures.durable_us <= interrupted.ended_us
        end
    group by interrupted.job_no, interrupted.attempt

),

unsaved as (

    select interrupted.*
    from interrupted
    left join saved
        on
            interrupted.job_no = saved.job_no
            and interrupted.attempt = saved.attempt
    where
        saved.job_no is null
        and interrupted.resumed_from_step is not null

),

progressed as (

    select
        unsaved.job_no,
        unsaved.attempt,
        max(events.at_us) as restore_us
    from unsaved
    inner join stg_events as events
        on
            unsaved.job_no = events.job_no
            and unsaved.attempt >= events.attempt
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    where
        events.event = 'progress'
        and events.step <= unsaved.resumed_from_step
        and events.at_us >= windows.started_us
        and events.at_us <= windows.window_end_us
    group by unsaved.job_no, unsaved.attempt

),

beginnings as (

    select
        windows.job_no,
        min(first_batches.first_batch_us) as first_batch_us
    from first_batches
    inner join attempt_windows as windows on first_batches.attempt_no = windows.attempt_no
    group by windows.job_no

),

found as (

    select
        interrupted.job_no,
        interrupted.attempt,
        interrupted.next_attempt,
        interrupted.resumed_from_step,
        coalesce(saved.restore_us, progressed.restore_us) as restore_us,
        interrupted.resumed_from_step is not null as is_shown
    from interrupted
    left join saved
        on
            interrupted.job_no = saved.job_no
            and interrupted.attempt = saved.attempt
    left join progressed
        on
            interrupted.job_no = progressed.job_no
            and interrupted.attempt = progressed.attempt

)

select
    found.job_no,
    found.attempt,
    found.next_attempt as resumed_by,
    found.resumed_from_step,
    coalesce(
        case
            when found.is_shown then found.restore_us
            -- what was restored once was durable, whatever else is told of it
            else greatest(
                found.restore_us,
                max(case when found.is_shown then found.restore_us end) over (
                    partition by found.job_no
                    order by found.attempt asc
                    rows unbounded preceding
                )
            )
        end,
        beginnings.first_batch_us
    ) as restore_us
from found
inner join beginnings on found.job_no = beginnings.job_no
