-- When each attempt began and ended, and how: the window that its seconds are charged in.
-- grain: one row per job_no, attempt
with

-- of generations that said no end: one whose workers failed before the next took over failed
failures as (

    select
        job_no,
        attempt
    from stg_placements
    where is_failure
    group by job_no, attempt

),

bounded as (

    select
        bounds.attempt_no,
        bounds.job_no,
        bounds.attempt,
        coalesce(
            least(bounds.first_scheduling_us, bounds.first_start_us), bounds.first_event_us
        ) as natural_start_us,
        bounds.first_start_us,
        bounds.first_event_us,
        bounds.last_sign_us,
        bounds.is_joined,
        bounds.is_allocated,
        coalesce(bounds.suspended_us, 0) as suspended_us,
        bounds.step_reports,
        bounds.allocation_end_us,
        bounds.is_continued,
        allocations.allocation_id,
        ends.ended_us as told_end_us,
        coalesce(
            ends.outcome,
            case when bounds.is_continued and failures.job_no is not null then 'failed' end
        ) as told_outcome,
        clocks.clock_us
    from attempt_bounds as bounds
    left join attempt_allocations as allocations
        on
            bounds.job_no = allocations.job_no
            and bounds.attempt = allocations.attempt
    left join attempt_ends as ends
        on
            bounds.job_no = ends.job_no
            and bounds.attempt = ends.attempt
    left join attempt_clocks as clocks
        on
            bounds.job_no = clocks.job_no
            and bounds.attempt = clocks.attempt
    left join failures
        on
            bounds.job_no = failures.job_no
            and bounds.attempt = failures.attempt

),

succeeded as (

    select
        *,
        lead(natural_start_us) over in_job as next_start_us,
        coalesce(lag(allocation_id) over in_job = allocation_id, false) as is_restart,
        lag(attempt) over in_job as previous_attempt,
        lead(attempt) over in_job as next_attempt
    from bounded
    window in_job as (partition by job_no order by attempt asc)

),

tied as (

    select
        *,
        least(
            coalesce(
                told_end_us,
                -- a generation lasts until its launch begins the next
                case when is_continued then next_start_us end,
                last_sign_us
            ),
            next_start_us,
            allocation_end_us
        ) as latest_us,
        sum(case when is_restart then 0 else 1 end) over (
            partition by job_no
            order by attempt asc
            rows unbounded preceding
        ) as holding
    from succeeded

),

ended as (

    select
        *,
        -- a restart begins where its predecessor ended, so an end is the latest of its holding
        max(
            greatest(latest_us, case when is_restart then latest_us else natural_start_us end)
        ) over (
            partition by job_no, holding
            order by attempt asc
            rows unbounded preceding
        ) as ended_us
    from tied

),

started as (

    select
        *,
        case
            when is_restart then lag(ended_us) over (partition by job_no order by attempt asc)
            else natural_start_us
        end as started_us,
        -- what is suspended leaves a holding from its end, and so the attempts before the last too
        max(ended_us) over (partition by job_no, holding)
        - max(suspended_us) over (partition by job_no, holding) as until_us
    from ended

),

windowed as (

    select
        *,
        greatest(started_us, least(ended_us, until_us)) as window_end_us
    from started

)

select
    attempt_no,
    job_no,
    attempt,
    previous_attempt,
    next_attempt,
    allocation_id,
    -- times
    natural_start_us,
    started_us,
    ended_us,
    window_end_us,
    first_start_us,
    first_event_us,
    last_sign_us,
    ended_us - window_end_us as suspended_us,
    -- how
    told_end_us is not null as is_ended,
    is_joined,
    is_allocated,
    case
        when told_outcome is not null then told_outcome
        when next_attempt is not null then 'lost'
        when clock_us - last_sign_us < (select stale_after_us from settings) then 'running'
        else 'lost'
    end as outcome,
    step_reports
from windowed
