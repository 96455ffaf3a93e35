-- Every checkpoint save, with the day it ended.
-- grain: one row per job_no, attempt, step, captured_us
select
    checkpoints.job_no,
    facts.base_job_no,
    checkpoints.attempt,
    facts.team,
    facts.workload,
    facts.is_counted,
    facts.is_instrumented,
    days.day,
    checkpoints.step,
    checkpoints.captured_us,
    checkpoints.saved_us,
    checkpoints.status,
    checkpoints.is_async,
    checkpoints.durable_us
from checkpoints
inner join attempt_facts as facts
    on
        checkpoints.job_no = facts.job_no
        and checkpoints.attempt = facts.attempt
inner join calendar_pieces as days
    on
        days.utc_day = checkpoints.saved_us // 86400000000
        and checkpoints.saved_us >= days.from_us
        and checkpoints.saved_us < days.to_us
