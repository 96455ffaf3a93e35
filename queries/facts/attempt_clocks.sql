-- How far the sources that spoke of an attempt have got, for the attempts that no one ended.
-- grain: one row per job_no, attempt
with

speakers as (

    select
        events.job_no,
        events.attempt,
        events.source_no
    from stg_events as events
    left join attempt_ends
        on
            events.job_no = attempt_ends.job_no
            and events.attempt = attempt_ends.attempt
    where
        attempt_ends.job_no is null
        and events.event not in ('job', 'change')
    group by events.job_no, events.attempt, events.source_no

)

select
    speakers.job_no,
    speakers.attempt,
    min(sources.clock_us) as clock_us
from speakers
inner join sources on speakers.source_no = sources.source_no
group by speakers.job_no, speakers.attempt
