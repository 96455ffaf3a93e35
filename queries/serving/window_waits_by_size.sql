-- Time to start and to recover of one scope by how many GPUs attempts hold, by day and over all the
-- days that a reader chooses (day null), so that a change of sizes does not look like a slowdown.
-- grain: one row per gpus_bucket, day
-- macro: chosen_team, chosen_workload, first_day, last_day
with

sized as (

    select
        first_batch_day as day,
        case
            when gpus <= 8 then '1-8'
            when gpus <= 64 then '9-64'
            when gpus <= 512 then '65-512'
            else '513+'
        end as gpus_bucket,
        tts_us,
        ttr_us
    from attempts
    where
        is_counted
        and gpus is not null
        and (tts_us is not null or ttr_us is not null)
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and first_batch_day between first_day and last_day

)

select
    gpus_bucket,
    day,
    count(tts_us) as tts_count,
    quantile_disc(tts_us, 0.5) / 1e6 as tts_p50_seconds,
    count(ttr_us) as ttr_count,
    quantile_disc(ttr_us, 0.5) / 1e6 as ttr_p50_seconds
from sized
group by grouping sets ((gpus_bucket, day), (gpus_bucket))
