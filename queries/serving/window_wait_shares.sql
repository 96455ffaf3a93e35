-- How many of the waits for a first batch of one scope were over after how long, over the days that
-- a reader chooses: counted up in steps of a 24th of an octave.
-- grain: one row per wait, step
-- macro: chosen_team, chosen_workload, first_day, last_day
with

waits as (

    select
        'start' as wait,
        tts_us as us
    from attempts
    where
        is_counted
        and tts_us is not null
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and first_batch_day between first_day and last_day

    union all

    select
        'recovery' as wait,
        ttr_us as us
    from attempts
    where
        is_counted
        and ttr_us is not null
        and (chosen_team = 'fleet' or team = chosen_team)
        and (chosen_workload = 'all' or workload = chosen_workload)
        and first_batch_day between first_day and last_day

),

stepped as (

    select
        wait,
        -- what took no time has no logarithm: it is over within the first step, a microsecond
        cast(ceil(24 * log2(greatest(us, 1))) as integer) as step,
        count(*) as attempts
    from waits
    group by all

)

select
    wait,
    step,
    pow(2, step / 24) / 1e6 as up_to_seconds,
    cast(sum(attempts) over earlier as bigint) as attempts,
    sum(attempts) over earlier / sum(attempts) over (partition by wait) as share_ratio
from stepped
window earlier as (partition by wait order by step)
