-- First sightings of increasing steps, for the attempts whose rhythm could hide a hang. The others
-- are left out by proof, not by guess: a gap holds at most its own wall time of training, so none
-- can exceed ten medians unless half of the gaps lost enough of theirs to other phases.
-- grain: one row per attempt_no, at_us, step
with

reported as (

    select
        windows.attempt_no,
        events.at_us,
        events.step,
        max(events.step) over (
            partition by windows.attempt_no
            order by events.at_us asc, events.step asc
            rows between unbounded preceding and 1 preceding
        ) as highest
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    where
        events.event = 'progress'
        and events.step is not null
        and events.at_us >= windows.started_us
        and events.at_us <= windows.window_end_us
        and windows.step_reports >= 11

),

sighted as (

    select
        attempt_no,
        at_us,
        step,
        lag(at_us) over (partition by attempt_no order by at_us asc, step asc) as previous_us
    from reported
    where
        highest is null
        or step > highest

),

trained as (

    select
        attempt_no,
        sum(case when area = 'training' then 0 else to_us - from_us end) as other_us,
        min(case when area = 'training' then from_us end) as from_us,
        max(case when area = 'training' then to_us end) as to_us
    from charged_intervals
    group by attempt_no

),

rhythms as (

    select
        sighted.attempt_no,
        count(*) - 1 as gaps,
        min(sighted.at_us - sighted.previous_us) as shortest_us,
        greatest(
            max(sighted.at_us - sighted.previous_us),
            min(sighted.at_us) - min(trained.from_us),
            max(trained.to_us) - max(sighted.at_us)
        ) as longest_us,
        min(trained.other_us) as other_us
    from sighted
    inner join trained on sighted.attempt_no = trained.attempt_no
    group by sighted.attempt_no

),

suspects as (

    select attempt_no
    from rhythms
    where
        gaps >= 10
        and longest_us > 60000000
        -- were the median below a tenth of the longest, half of the gaps would each have lost more
        -- than the shortest less that tenth
        and 20 * other_us > gaps * (10 * shortest_us - longest_us)

)

select
    sighted.attempt_no,
    sighted.at_us,
    sighted.step
from sighted
inner join suspects on sighted.attempt_no = suspects.attempt_no
