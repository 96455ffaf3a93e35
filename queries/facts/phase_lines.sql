-- What each reporter says of a phase or stage, start by start and end by end, with what it said
-- before and says next. Complete spans matter here only where they may stand between a start and
-- its end.
-- grain: many rows per attempt_no, phase, stage, rank, upload_step, at_us
with

pairable as (

    select
        attempt_no,
        phase
    from phase_events
    where
        end_us is null
        or is_end
    group by attempt_no, phase

),

told as (

    select
        attempt_no,
        phase,
        stage,
        rank,
        at_us,
        step,
        is_async,
        is_failed,
        file_no,
        case when is_end then 0 else 1 end as starts,
        case when is_end then 1 else 0 end as ends
    from phase_events
    where
        end_us is null
        or is_end

    union all

    select
        complete.attempt_no,
        complete.phase,
        complete.stage,
        complete.rank,
        complete.at_us,
        complete.step,
        complete.is_async,
        complete.is_failed,
        complete.file_no,
        0 as starts,
        0 as ends
    from phase_events as complete
    inner join pairable
        on
            complete.attempt_no = pairable.attempt_no
            and complete.phase = pairable.phase
    where
        complete.end_us is not null
        and not complete.is_end

),

uploads as (

    select
        *,
        -- uploads of several steps may overlap: an end without a step is that of the newest start
        case
            when step is null and ends = 1
                then nullif(last_value(
                    case when starts = 1 then coalesce(step, -1) end ignore nulls
                ) over (
                    partition by attempt_no, stage, rank
                    order by at_us asc, starts desc, step asc nulls first
                    rows unbounded preceding
                ), -1)
            else step
        end as upload_step
    from told
    where phase = 'checkpoint_upload'

),

keyed as (

    select
        *,
        cast(null as bigint) as upload_step
    from told
    where phase <> 'checkpoint_upload'

    union all

    select * from uploads

)

select
    attempt_no,
    phase,
    stage,
    rank,
    upload_step,
    at_us,
    starts,
    ends,
    step,
    is_async,
    is_failed,
    file_no,
    coalesce(lag(starts) over in_order, 0) as follows_starts,
    lead(at_us) over in_order as next_us,
    coalesce(lead(ends) over in_order, 0) as next_ends,
    lead(step) over in_order as next_step,
    lead(is_async) over in_order as next_is_async,
    lead(is_failed) over in_order as next_is_failed
from keyed
window in_order as (
    partition by attempt_no, phase, stage, rank, upload_step
    order by at_us asc
)
