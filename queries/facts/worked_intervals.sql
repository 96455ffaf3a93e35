-- Training with hangs told apart: `worked` is what may still become effective or unsaved.
-- grain: one row per attempt_no, from_us
with

suspected as (

    select
        attempt_no,
        from_us,
        to_us
    from charged_intervals
    where
        area = 'training'
        and attempt_no in (select hang_windows.attempt_no from hang_windows)

),

boundaries as (

    select
        attempt_no,
        from_us as at_us,
        1 as training,
        0 as hang
    from suspected

    union all

    select
        attempt_no,
        to_us as at_us,
        -1 as training,
        0 as hang
    from suspected

    union all

    select
        attempt_no,
        from_us as at_us,
        0 as training,
        1 as hang
    from hang_windows

    union all

    select
        attempt_no,
        to_us as at_us,
        0 as training,
        -1 as hang
    from hang_windows

),

counted as (

    select
        attempt_no,
        at_us as from_us,
        lead(at_us) over in_order as to_us,
        sum(training) over in_order as training,
        sum(hang) over in_order as hang
    from boundaries
    window in_order as (
        partition by attempt_no
        order by at_us asc
        rows unbounded preceding
    )

)

select
    attempt_no,
    from_us,
    to_us,
    hang = 0 as is_work
from counted
where
    training > 0
    and to_us > from_us

union all

select
    attempt_no,
    from_us,
    to_us,
    true as is_work
from charged_intervals
where
    area = 'training'
    and attempt_no not in (select hang_windows.attempt_no from hang_windows)
