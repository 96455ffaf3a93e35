-- What each reporter of a phase or stage says at each instant: starts, ends, complete spans.
-- Complete spans matter here only where they may stand between a start and its end.
-- grain: one row per attempt_no, phase, stage, rank, upload_step, at_us
with

open_ended as (

    select
        *,
        case when is_end then 0 else 1 end as starts,
        case when is_end then 1 else 0 end as ends
    from phase_events
    where
        end_us is null
        or is_end

),

pairable as (

    select
        attempt_no,
        phase
    from open_ended
    group by attempt_no, phase

),

told as (

    select * from open_ended

    union all

    select
        complete.*,
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
            when step is null and is_end
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
    cast(sum(starts) as integer) as starts,
    cast(sum(ends) as integer) as ends,
    max(case when starts = 1 then step end) as start_step,
    max(case when ends = 1 then step end) as end_step,
    max(case when is_async then starts else 0 end) as start_async,
    -- 1: async, 2: failed
    max(case when is_async then ends else 0 end)
    + max(case when is_failed then 2 * ends else 0 end) as end_flags,
    min(case when starts = 1 then file_no end) as file_no
from keyed
group by attempt_no, phase, stage, rank, upload_step, at_us
