-- Gaps between steps that no train loop takes: METRICS.md section 2, Hang.
-- Gaps are measured in microseconds charged to training, so a save or a compile is no hang.
-- grain: one row per attempt_no, from_us
with

trained as (

    select
        attempt_no,
        from_us,
        to_us,
        sum(to_us - from_us) over (
            partition by attempt_no
            order by from_us asc
            rows unbounded preceding
        ) as trained_us
    from charged_intervals
    where
        area = 'training'
        and attempt_no in (select step_sightings.attempt_no from step_sightings)

),

totals as (

    select
        attempt_no,
        max(trained_us) as total_us
    from trained
    group by attempt_no

),

timeline as (

    select
        attempt_no,
        from_us as at_us,
        cast(null as bigint) as step,
        trained_us - (to_us - from_us) as before_us,
        from_us,
        to_us
    from trained

    union all

    select
        attempt_no,
        at_us,
        step,
        null as before_us,
        null as from_us,
        null as to_us
    from step_sightings

),

carried as (

    select
        attempt_no,
        at_us,
        step,
        last_value(before_us ignore nulls) over in_order as before_us,
        last_value(from_us ignore nulls) over in_order as from_us,
        last_value(to_us ignore nulls) over in_order as to_us
    from timeline
    window in_order as (
        partition by attempt_no
        order by at_us asc, step asc nulls first
        rows unbounded preceding
    )

),

clocked as (

    select
        attempt_no,
        at_us,
        step,
        -- training done when this step was first seen
        coalesce(before_us + least(at_us, to_us) - from_us, 0) as done_us
    from carried
    where step is not null

),

measured as (

    select
        attempt_no,
        at_us,
        done_us,
        lead(at_us) over in_order as next_us,
        lead(done_us) over in_order - done_us as gap_us,
        row_number() over in_order as position
    from clocked
    window in_order as (partition by attempt_no order by at_us asc, step asc)

),

ranked as (

    select
        attempt_no,
        gap_us,
        row_number() over (partition by attempt_no order by gap_us asc) as position,
        count(*) over (partition by attempt_no) as gaps
    from measured
    where gap_us is not null

),

limits as (

    select
        attempt_no,
        greatest(10 * gap_us, 60000000) as limit_us
    from ranked
    where position = (gaps + 1) // 2  -- nearest rank

)

select
    measured.attempt_no,
    measured.at_us as from_us,
    coalesce(measured.next_us, 9223372036854775807) as to_us
from measured
inner join limits on measured.attempt_no = limits.attempt_no
inner join totals on measured.attempt_no = totals.attempt_no
-- the last gap runs to the end of training
where coalesce(measured.gap_us, totals.total_us - measured.done_us) > limits.limit_us

union all

select
    measured.attempt_no,
    cast(0 as bigint) as from_us,  -- from the start of training
    measured.at_us as to_us
from measured
inner join limits on measured.attempt_no = limits.attempt_no
where
    measured.position = 1
    and measured.done_us > limits.limit_us
