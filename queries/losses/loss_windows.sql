-- Which stretch of which attempt was lost by which interruption. A restore point may lie in an
-- earlier attempt and take work of several; a second is lost once, by the first that took it.
-- grain: one row per attempt_no, cause_attempt
with

-- A point that is no earlier than the one before takes nothing that was not taken before, but of
-- the attempts since: a job that fails ten thousand times in a row has as many points, not as many
-- squared.
reaching as (

    select
        job_no,
        attempt,
        restore_us,
        case
            when restore_us >= lag(restore_us) over attempts_of_job
                then lag(attempt) over attempts_of_job
            else 0
        end as after_attempt
    from restore_points
    window attempts_of_job as (partition by job_no order by attempt asc)

),

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
    inner join reaching as points
        on
            windows.job_no = points.job_no
            and windows.attempt <= points.attempt
            and windows.attempt > points.after_attempt
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
