-- Time each stage of each attempt was open in any rank, and how much of it before the first batch.
-- grain: one row per job_no, attempt, phase, stage
select
    windows.job_no,
    windows.job_no % 4294967296 as base_job_no,
    windows.attempt,
    totals.phase,
    totals.stage,
    totals.us,
    totals.startup_us
from stage_totals as totals
inner join attempt_windows as windows on totals.attempt_no = windows.attempt_no
