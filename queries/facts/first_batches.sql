-- First and last second of training of each attempt that trained, hangs left out.
-- grain: one row per attempt_no
select
    attempt_no,
    min(from_us) as first_batch_us,
    max(to_us) as last_trained_us
from worked_intervals
where is_work
group by attempt_no
