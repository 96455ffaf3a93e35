-- What each reporter of a phase or stage says at each instant: starts, ends, complete spans.
-- Complete spans matter here only where they may stand between a start and its end.
-- grain: one row per attempt_no, phase, stage, rank, upload_step, at_us
with

told as (

    select
        windows.attempt_no,
        events.phase,
        events.stage,
        events.rank,
        events.at_us,
        events.end_us,
        events.step,
        events.mode,
        events.ok,
        events.file_no,
        case when events.event = 'phase_start' and events.end_us is null then 1 else 0 end
            as is_start,
        case when events.event = 'phase_end' then 1 else 0 end as is_end
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    where
        events.event in ('phase_start', 'phase_end')
        -- a span of negative length is ignored
        and (events.end_us is null or events.end_us >= events.at_us)

),

pairable as (

    select
        attempt_no,
        phase
    from told
    where is_start + is_end = 1
    group by attempt_no, phase

),

mixed as (

    select told.*
    from told
    inner join pairable
        on
            told.attempt_no = pairable.attempt_no
            and told.phase = pairable.phase
    where told.is_start + told.is_end = 0

),

open_ended as (

    select *
    from told
    where is_start + is_end = 1

    union all

    select * from mixed

),

uploads as (

    select
        *,
        -- uploads of several steps may overlap: an end without a step is that of the newest start
        case
            when step is null and is_end = 1
                then nullif(last_value(
                    case when is_start = 1 then coalesce(step, -1) end ignore nulls
                ) over (
                    partition by attempt_no, stage, rank
                    order by at_us asc, is_start desc, step asc nulls first
                    rows unbounded preceding
                ), -1)
            else step
        end as upload_step
    from open_ended
    where phase = 'checkpoint_upload'

),

keyed as (

    select
        *,
        cast(null as bigint) as upload_step
    from open_ended
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
    sum(is_start) as starts,
    sum(is_end) as ends,
    max(case when is_start = 1 then step end) as start_step,
    max(case when is_end = 1 then step end) as end_step,
    max(case when is_start = 1 and mode = 'async' then 1 else 0 end) as start_async,
    -- 1: async, 2: failed
    max(case when is_end = 1 and mode = 'async' then 1 else 0 end)
    + max(case when is_end = 1 and ok = false then 2 else 0 end) as end_flags,
    min(case when is_start = 1 then file_no end) as file_no
from keyed
group by attempt_no, phase, stage, rank, upload_step, at_us
