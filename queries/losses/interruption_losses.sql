-- What each interruption cost: work lost, and the start-up its recovery took. In microseconds and
-- GPU-microseconds of the attempts that hold them; null where the GPUs of one are unknown. Of jobs
-- that are instrumented: what others lost cannot be known, though they may tell when they trained.
-- grain: one row per job_no, attempt
with

lost as (

    select
        loss_windows.job_no,
        loss_windows.cause_attempt as attempt,
        cast(sum(
            least(worked.to_us, loss_windows.to_us) - greatest(worked.from_us, loss_windows.from_us)
        ) as bigint) as lost_us,
        case
            when count(*) = count(gpus.gpus)
                then
                    sum(
                        (
                            least(worked.to_us, loss_windows.to_us)
                            - greatest(worked.from_us, loss_windows.from_us)
                        ) * gpus.gpus
                    )
        end as lost_gpu_us
    from loss_windows
    inner join worked_intervals as worked
        on
            loss_windows.attempt_no = worked.attempt_no
            and loss_windows.from_us < worked.to_us
            and loss_windows.to_us > worked.from_us
    inner join attempt_gpus as gpus
        on
            loss_windows.job_no = gpus.job_no
            and loss_windows.attempt = gpus.attempt
    where worked.is_work
    group by loss_windows.job_no, loss_windows.cause_attempt

),

recovered as (

    select
        windows.job_no,
        windows.previous_attempt as attempt,
        cast(sum(intervals.to_us - intervals.from_us) as bigint) as recovery_us,
        case
            when count(*) = count(gpus.gpus)
                then sum((intervals.to_us - intervals.from_us) * gpus.gpus)
        end as recovery_gpu_us
    from area_intervals as intervals
    inner join attempt_windows as windows on intervals.attempt_no = windows.attempt_no
    inner join attempt_gpus as gpus
        on
            windows.job_no = gpus.job_no
            and windows.attempt = gpus.attempt
    where intervals.is_recovery
    group by windows.job_no, windows.previous_attempt

)

select
    windows.job_no,
    windows.attempt,
    coalesce(lost.lost_us, 0) as lost_us,
    case when lost.job_no is null then 0 else lost.lost_gpu_us end as lost_gpu_us,
    coalesce(recovered.recovery_us, 0) as caused_recovery_us,
    case when recovered.job_no is null then 0 else recovered.recovery_gpu_us end
        as caused_recovery_gpu_us
from attempt_windows as windows
inner join job_instrumentation as instrumentation on windows.job_no = instrumentation.job_no
left join lost
    on
        windows.job_no = lost.job_no
        and windows.attempt = lost.attempt
left join recovered
    on
        windows.job_no = recovered.job_no
        and windows.attempt = recovered.attempt
where
    instrumentation.is_instrumented
    and (lost.job_no is not null or recovered.job_no is not null)
