-- Every microsecond of every attempt, charged to one area; the pieces lie within one day.
-- grain: one row per attempt_no, from_us
with

lost as (

    -- windows of one attempt adjoin: everything from the earliest restore point on is lost
    select
        attempt_no,
        min(from_us) as lost_from_us
    from loss_windows
    group by attempt_no

),

told_apart as (

    select
        attempt_no,
        from_us,
        to_us,
        area
    from charged_intervals
    where area <> 'training'

    union all

    select
        attempt_no,
        from_us,
        to_us,
        cast('hang' as area_name) as area
    from worked_intervals
    where not is_work

    union all

    select
        worked.attempt_no,
        worked.from_us,
        least(worked.to_us, coalesce(lost.lost_from_us, worked.to_us)) as to_us,
        cast('effective' as area_name) as area
    from worked_intervals as worked
    left join lost on worked.attempt_no = lost.attempt_no
    where
        worked.is_work
        and (lost.lost_from_us is null or worked.from_us < lost.lost_from_us)

    union all

    select
        worked.attempt_no,
        greatest(worked.from_us, lost.lost_from_us) as from_us,
        worked.to_us,
        cast('unsaved' as area_name) as area
    from worked_intervals as worked
    inner join lost on worked.attempt_no = lost.attempt_no
    where
        worked.is_work
        and worked.to_us > lost.lost_from_us

),

followed as (

    select
        windows.attempt_no,
        windows.job_no,
        coalesce(
            previous.outcome in ('failed', 'preempted', 'timeout', 'lost'), false
        ) as follows_interruption,
        first_batches.first_batch_us,
        instrumentation.is_instrumented
    from attempt_windows as windows
    inner join job_instrumentation as instrumentation
        on windows.job_no = instrumentation.job_no
    left join attempt_windows as previous
        on
            windows.job_no = previous.job_no
            and windows.previous_attempt = previous.attempt
    left join first_batches on windows.attempt_no = first_batches.attempt_no

),

placed as (

    select
        told_apart.attempt_no,
        told_apart.from_us,
        told_apart.to_us,
        case
            when followed.is_instrumented then told_apart.area
            else cast('uninstrumented' as area_name)
        end as area,
        followed.follows_interruption,
        followed.is_instrumented
        and told_apart.area in (
            'scheduling', 'hardware_setup', 'launcher_init',
            'trainer_init', 'pt2_compile', 'checkpoint_load'
        )
        and (
            followed.first_batch_us is null
            or told_apart.from_us < followed.first_batch_us
        ) as is_startup
    from told_apart
    inner join followed on told_apart.attempt_no = followed.attempt_no

)

select
    attempt_no,
    from_us,
    to_us,
    area,
    -- in an area of start-up, and before the first batch: a later compile starts nothing
    is_startup,
    is_startup and follows_interruption as is_recovery
from placed
