-- Attempts that resumed from the step of a save that the attempts after it had not gone on from:
-- METRICS.md section 3 takes the newest save with that step or less, which is one of theirs.
-- grain: one row per job_no, attempt
select
    points.job_no,
    points.resumed_by as attempt,
    points.resumed_from_step,
    max_by(left_saves.attempt, left_saves.captured_us) as saved_by,
    max(taken.attempt) as taken_attempt,
    max(taken.step) as taken_step,
    max(taken.captured_us) as taken_us
from restore_points as points
inner join checkpoints as taken
    on
        points.job_no = taken.job_no
        and points.restore_us = taken.captured_us
        and points.attempt >= taken.attempt
        and points.resumed_from_step > taken.step
inner join checkpoints as left_saves
    on
        points.job_no = left_saves.job_no
        and points.resumed_from_step = left_saves.step
        and points.restore_us > left_saves.captured_us
        and taken.attempt > left_saves.attempt
group by points.job_no, points.resumed_by, points.resumed_from_step
