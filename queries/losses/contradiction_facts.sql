-- What was contradicted or left out, by job.
-- grain: one row per job_no, attempt, kind, what
select
    job_no,
    job_no % 4294967296 as base_job_no,
    attempt,
    kind,
    what,
    first_us,
    times
from contradictions
