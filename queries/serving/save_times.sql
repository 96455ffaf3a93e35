-- How long each good save blocked its train loop.
-- grain: one row per save
-- changes by: day
select
    team,
    workload,
    day,
    saved_us - captured_us as save_us
from warehouse.save_facts_kept
where
    status = 'good'
    and is_counted
    and is_instrumented
    and day in (select days.day from publishing_days as days)
order by day asc
