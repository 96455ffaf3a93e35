-- Percentiles of the latencies per scope and day, wide.
-- grain: one row per team, workload, day
select
    team,
    workload,
    day,
    max(case when measure = 'tts' then samples end) as tts_count,
    max(case when measure = 'tts' then p50_us end) as tts_p50_us,
    max(case when measure = 'tts' then p90_us end) as tts_p90_us,
    max(case when measure = 'tts' then p99_us end) as tts_p99_us,
    max(case when measure = 'ttr' then samples end) as ttr_count,
    max(case when measure = 'ttr' then p50_us end) as ttr_p50_us,
    max(case when measure = 'ttr' then p90_us end) as ttr_p90_us,
    max(case when measure = 'ttr' then p99_us end) as ttr_p99_us,
    max(case when measure = 'save' then samples end) as save_count,
    max(case when measure = 'save' then p50_us end) as save_p50_us,
    max(case when measure = 'save' then p90_us end) as save_p90_us,
    max(case when measure = 'save' then p99_us end) as save_p99_us
from warehouse.latency_percentiles_kept
group by team, workload, day
order by team asc, workload asc, day asc
