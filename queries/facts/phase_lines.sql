-- What each reporter says of a phase or stage, start by start and end by end, with what it said
-- before and says next. Complete spans matter here only where they may stand between a start and
-- its end. `said` is a sum: 1 a start, 2 an end, 4 async, 8 failed.
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

told as not materialized (

    select
        attempt_no,
        phase,
        stage,
        rank,
        at_us,
        step,
        file_no,
        cast(
            case when is_end then 2 else 1 end
            + case when is_async then 4 else 0 end
            + case when is_failed then 8 else 0 end as tinyint
        ) as said
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
        complete.file_no,
        cast(0 as tinyint) as said
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
            when step is null and said & 2 > 0
                then nullif(last_value(
                    case when said & 1 > 0 then coalesce(step, -1) end ignore nulls
                ) over (
                    partition by attempt_no, stage, rank
                    order by at_us asc, said & 1 desc, step asc nulls first
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
    said,
    step,
    file_no,
    coalesce(lag(said) over in_order, 0) as said_before,
    lead(at_us) over in_order as next_us,
    coalesce(lead(said) over in_order, 0) as said_next,
    lead(step) over in_order as next_step
from keyed
window in_order as (
    partition by attempt_no, phase, stage, rank, upload_step
    order by at_us asc
)
