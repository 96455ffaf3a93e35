-- Series that got worse. The detector is not part of this release: no rows yet.
-- grain: one row per team, metric, started_on
select
    cast(null as varchar) as team,
    cast(null as varchar) as metric,
    cast(null as date) as started_on,
    cast(null as varchar) as state,
    cast(null as varchar) as severity,
    cast(null as varchar) as held_back_by,
    cast(null as varchar) as verdict,
    cast(null as double) as observed,
    cast(null as double) as expected,
    cast(null as double) as change_ratio,
    cast(null as double) as lost_gpu_seconds_per_day,
    cast(null as date) as detected_on,
    cast(null as date) as closed_on
where false
