-- Whether a phase or stage was open before each instant of its reporter, and what comes next.
-- grain: one row per attempt_no, phase, stage, rank, upload_step, at_us
-- stored: no
with

-- where a reporter says more than one thing at one instant: few, if any
crowded as (

    select
        attempt_no,
        phase
    from phase_lines
    where at_us = next_us
    group by attempt_no, phase

),

instants as (

    select
        lines.attempt_no,
        lines.phase,
        lines.stage,
        lines.rank,
        lines.upload_step,
        lines.at_us,
        cast(sum(lines.said & 1) as integer) as starts,
        cast(sum(case when lines.said & 2 > 0 then 1 else 0 end) as integer) as ends,
        max(case when lines.said & 1 > 0 then lines.step end) as start_step,
        max(case when lines.said & 2 > 0 then lines.step end) as end_step,
        max(case when lines.said & 5 = 5 then 1 else 0 end) as start_async,
        -- 1: async, 2: failed
        max(case when lines.said & 6 = 6 then 1 else 0 end)
        + max(case when lines.said & 10 = 10 then 2 else 0 end) as end_flags,
        min(case when lines.said & 1 > 0 then lines.file_no end) as file_no
    from phase_lines as lines
    inner join crowded
        on
            lines.attempt_no = crowded.attempt_no
            and lines.phase = crowded.phase
    group by
        lines.attempt_no, lines.phase, lines.stage, lines.rank, lines.upload_step, lines.at_us

),

followed as (

    select
        attempt_no,
        phase,
        stage,
        rank,
        upload_step,
        at_us,
        starts,
        ends,
        start_step,
        end_step,
        start_async,
        end_flags,
        file_no,
        -- 1: open. An end beside a start leaves things as they were
        coalesce(last_value(
            case
                when starts > 0 and ends = 0 then 1
                when starts = 0 or ends > 1 then 0
            end ignore nulls
        ) over (
            partition by attempt_no, phase, stage, rank, upload_step
            order by at_us asc
            rows between unbounded preceding and 1 preceding
        ), 0) as open_before,
        lead(at_us) over in_order as next_us,
        coalesce(lead(ends) over in_order, 0) as next_ends,
        lead(end_step) over in_order as next_end_step,
        lead(end_flags) over in_order as next_end_flags
    from instants
    window in_order as (
        partition by attempt_no, phase, stage, rank, upload_step
        order by at_us asc
    )

)

select * from followed

union all

-- everywhere else each line is an instant of its own, before which the phase is open if the line
-- before is a start
select
    lines.attempt_no,
    lines.phase,
    lines.stage,
    lines.rank,
    lines.upload_step,
    lines.at_us,
    lines.said & 1 as starts,
    case when lines.said & 2 > 0 then 1 else 0 end as ends,
    case when lines.said & 1 > 0 then lines.step end as start_step,
    case when lines.said & 2 > 0 then lines.step end as end_step,
    case when lines.said & 5 = 5 then 1 else 0 end as start_async,
    case when lines.said & 6 = 6 then 1 else 0 end
    + case when lines.said & 10 = 10 then 2 else 0 end as end_flags,
    case when lines.said & 1 > 0 then lines.file_no end as file_no,
    lines.said_before & 1 as open_before,
    lines.next_us,
    case when lines.said_next & 2 > 0 then 1 else 0 end as next_ends,
    case when lines.said_next & 2 > 0 then lines.next_step end as next_end_step,
    case when lines.said_next & 6 = 6 then 1 else 0 end
    + case when lines.said_next & 10 = 10 then 2 else 0 end as next_end_flags
from phase_lines as lines
left join crowded
    on
        lines.attempt_no = crowded.attempt_no
        and lines.phase = crowded.phase
where crowded.attempt_no is null
