-- From when to when each reporter had a phase or stage open; ends that never came are found here.
-- grain: many rows per attempt_no, phase, stage, rank
with

paired as (

    select
        attempt_no,
        phase,
        stage,
        rank,
        at_us as from_us,
        file_no,
        coalesce(upload_step, start_step) as start_step,
        start_async,
        next_us,
        case
            when ends > open_before then at_us  -- closed at once
            when next_ends > 0 then next_us
        end as own_end_us,
        case when ends > open_before then end_step else next_end_step end as end_step,
        case when ends > open_before then end_flags else next_end_flags end as end_flags
    from phase_states
    where starts > 0

),

endless as (

    select
        attempt_no,
        phase,
        from_us
    from paired
    where
        own_end_us is null
        and phase <> 'training'
    group by attempt_no, phase, from_us

),

progressed as (

    select
        windows.attempt_no,
        events.at_us
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    where
        events.event = 'progress'
        and windows.attempt_no in (select endless.attempt_no from endless)

),

awaited as (

    select
        attempt_no,
        from_us,
        min(progress_us) over (
            partition by attempt_no
            order by from_us asc, progress_us asc nulls last
            rows between 1 following and unbounded following
        ) as progress_us,
        progress_us is null as is_start
    from (
        select
            attempt_no,
            from_us,
            cast(null as bigint) as progress_us
        from endless
        union all
        -- progress at the very instant of the start comes before it: it does not end the span
        select
            attempt_no,
            at_us as from_us,
            at_us as progress_us
        from progressed
    ) as lined_up

),

next_progress as (

    select
        attempt_no,
        from_us,
        min(progress_us) as progress_us
    from awaited
    where is_start
    group by attempt_no, from_us

),

closed as (

    select
        paired.attempt_no,
        paired.phase,
        paired.stage,
        paired.rank,
        paired.from_us,
        coalesce(
            paired.own_end_us,
            least(
                paired.next_us,
                case when paired.phase <> 'training' then next_progress.progress_us end
            )
        ) as to_us,
        paired.own_end_us is not null as has_own_end,
        case
            when paired.own_end_us is null then paired.start_step
            else coalesce(paired.start_step, paired.end_step)
        end as step,
        paired.start_async = 1
        or (paired.own_end_us is not null and paired.end_flags in (1, 3)) as is_async,
        paired.own_end_us is not null and paired.end_flags >= 2 as is_failed,
        paired.file_no
    from paired
    left join next_progress
        on
            paired.attempt_no = next_progress.attempt_no
            and paired.from_us = next_progress.from_us

    union all

    -- complete spans say both ends in one line
    select
        attempt_no,
        phase,
        stage,
        rank,
        at_us as from_us,
        end_us as to_us,
        true as has_own_end,
        step,
        is_async,
        is_failed,
        file_no
    from phase_events
    where
        end_us is not null
        and not is_end

),

limits as (

    -- what lies outside the attempt's window is cut off; queueing comes before it
    select
        attempt_no,
        false as is_queue,
        started_us as from_us,
        window_end_us as to_us
    from attempt_windows

    union all

    select
        windows.attempt_no,
        true as is_queue,
        coalesce(previous.ended_us, -9223372036854775807) as from_us,
        windows.started_us as to_us
    from attempt_windows as windows
    left join attempt_windows as previous
        on
            windows.job_no = previous.job_no
            and windows.previous_attempt = previous.attempt

)

select
    closed.attempt_no,
    closed.phase,
    closed.stage,
    -- the reporter's rank
    case
        when closed.rank >= 0 then closed.rank
        else nullif(-closed.rank % 4294967296, 0) - 1
    end as rank,
    closed.from_us as told_from_us,
    greatest(closed.from_us, limits.from_us) as from_us,
    least(coalesce(closed.to_us, limits.to_us), limits.to_us) as to_us,
    closed.has_own_end,
    not closed.has_own_end or closed.to_us > limits.to_us as is_cut_off,
    closed.step,
    closed.is_async,
    closed.is_failed,
    closed.file_no
from closed
inner join limits
    on
        closed.attempt_no = limits.attempt_no
        and (closed.phase = 'queue') = limits.is_queue
where
    closed.from_us <= limits.to_us
    and coalesce(closed.to_us, limits.to_us) >= limits.from_us
