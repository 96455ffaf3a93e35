-- What the sources contradicted or left out, and was resolved by METRICS.md: listed, never hidden.
-- grain: many rows per job_no, attempt, kind
with

found as (

    select
        spans.attempt_no,
        'missing_end' as kind,
        concat(
            spans.phase,
            case when spans.stage is not null then concat('/', spans.stage) end,
            case when spans.rank is not null then concat(' of rank ', spans.rank) end
        ) as what,
        spans.told_from_us as at_us
    from phase_spans as spans
    inner join attempt_windows as windows on spans.attempt_no = windows.attempt_no
    where
        not spans.has_own_end
        and not (windows.outcome = 'running' and spans.to_us = windows.window_end_us)

    union all

    select
        instants.attempt_no,
        'end_without_start' as kind,
        concat(
            instants.phase,
            case when instants.stage is not null then concat('/', instants.stage) end,
            case when instants.rank is not null then concat(' of rank ', instants.rank) end
        ) as what,
        instants.at_us
    from phase_states as instants
    where
        instants.starts = 0
        and instants.ends > instants.open_before

),

told as (

    select
        windows.job_no,
        windows.attempt,
        found.kind,
        found.what,
        found.at_us
    from found
    inner join attempt_windows as windows on found.attempt_no = windows.attempt_no

    union all

    select
        windows.job_no,
        windows.attempt,
        case
            when events.at_us < windows.natural_start_us then 'end_before_start'
            else 'several_ends'
        end as kind,
        coalesce(cast(events.outcome as varchar), 'no outcome') as what,
        events.at_us
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    left join attempt_ends as ends
        on
            events.job_no = ends.job_no
            and events.attempt = ends.attempt
    where
        events.event = 'attempt_end'
        and (
            events.at_us < windows.natural_start_us
            or events.at_us <> ends.ended_us
            or (events.outcome is not null and events.outcome <> ends.outcome)
        )

    union all

    select
        events.job_no,
        events.attempt,
        'end_without_outcome' as kind,
        case
            when events.exit_code is null then 'no exit code' else
                concat('exit code ', events.exit_code)
        end
            as what,
        events.at_us
    from stg_events as events
    where
        events.event = 'attempt_end'
        and events.outcome is null

    union all

    select
        windows.job_no,
        windows.attempt,
        'events_after_end' as kind,
        'the end stands, what follows is cut off' as what,
        windows.last_sign_us as at_us
    from attempt_windows as windows
    where
        windows.is_ended
        and windows.last_sign_us > windows.ended_us

    union all

    select
        windows.job_no,
        windows.attempt,
        'overlaps_successor' as kind,
        concat('attempt ', windows.next_attempt, ' had started') as what,
        windows.last_sign_us as at_us
    from attempt_windows as windows
    inner join attempt_windows as later
        on
            windows.job_no = later.job_no
            and windows.next_attempt = later.attempt
    where windows.last_sign_us > later.natural_start_us

    union all

    select
        scoped.job_no,
        scoped.attempt,
        'negative_span' as kind,
        cast(scoped.phase as varchar) as what,
        scoped.at_us
    from scoped_events as scoped
    where scoped.end_us < scoped.at_us

    union all

    select
        scoped.job_no,
        scoped.attempt,
        'event_id_conflict' as kind,
        concat('event_id ', scoped.event_id) as what,
        scoped.at_us
    from scoped_events as scoped
    inner join stg_superseded as superseded on scoped.row_no = superseded.row_no

)

select
    job_no,
    attempt,
    kind,
    what,
    min(at_us) as first_us,
    count(*) as times
from told
group by job_no, attempt, kind, what
