-- Which stretch of which attempt was lost by which interruption. A restore point may lie in an
-- earlier attempt and take work of several; a second is lost once, by the first that took it.
-- grain: one row per attempt_no, cause_attempt
with

reached as (

    select
        windows.attempt_no,
        windows.job_no,
        windows.attempt,
        points.attempt as cause_attempt,
        points.restore_us as from_us,
        min(points.restore_us) over (
            partition by windows.attempt_no
            order by points.attempt asc
            rows between unbounded preceding and 1 preceding
        ) as earlier_us
    from attempt_windows as windows
    inner join restore_points as points
        on
            windows.job_no = points.job_no
            and windows.attempt <= points.attempt
            and windows.window_end_us > points.restore_us
    where windows.outcome <> 'completed'

)

select
    attempt_no,
    job_no,
    attempt,
    cause_attempt,
    from_us,
    coalesce(earlier_us, 9223372036854775807) as to_us
from reached
where
    earlier_us is null
    or from_us < earlier_us
