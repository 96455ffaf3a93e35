-- PT2 compilation of one scope by day, and over all the days that a reader chooses (day null), of
-- the attempts that compiled. The share of hits is of those that say what their cache did; null
-- where none does, as recompiles are where none counts them.
-- grain: one row per day
-- macro: chosen_team, chosen_workload, first_day, last_day
select
    started_day as day,
    count(*) as attempts,
    count(*) filter (where cache = 'hit') as hits,
    count(*) filter (where cache = 'hit') / nullif(count(cache), 0) as hit_ratio,
    quantile_disc(pt2_compile_seconds, 0.5) filter (where cache = 'hit') as hit_p50_seconds,
    quantile_disc(pt2_compile_seconds, 0.5) filter (where cache = 'miss') as miss_p50_seconds,
    sum(recompiles) / count(*) as recompiles_per_attempt
from attempts
where
    is_counted
    and (pt2_compile_seconds > 0 or cache is not null or recompiles is not null)
    and (chosen_team = 'fleet' or team = chosen_team)
    and (chosen_workload = 'all' or workload = chosen_workload)
    and started_day between first_day and last_day
group by grouping sets ((started_day), ())
