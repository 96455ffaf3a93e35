-- Whether a phase or stage was open before each instant of its reporter, and what comes next.
-- grain: one row per attempt_no, phase, stage, rank, upload_step, at_us
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
from phase_instants
window in_order as (
    partition by attempt_no, phase, stage, rank, upload_step
    order by at_us asc
)
