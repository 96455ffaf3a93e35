-- What this file is: when it was published and what it holds.
-- grain: one row
select
    publishing.published_at,
    meta.publication as sequence,
    meta.schema_version,
    publishing.time_zone,
    publishing.stale_after_seconds,
    (select min(day) from days) as first_day,
    (select max(case when is_complete then day end) from days) as last_complete_day,
    (select max(day) from days) as newest_day,
    (select make_timestamp(max(clock_us)) from warehouse.sources) as data_at,
    (select coalesce(sum(events), 0)::bigint from warehouse.files) as events,
    (select count(*) from warehouse.rejected_lines) as rejected
from warehouse.meta as meta
cross join publishing
