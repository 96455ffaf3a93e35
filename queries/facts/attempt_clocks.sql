-- How far the sources that spoke of an attempt have got, for the attempts that no one ended: with
-- its cluster, where their dumps tell of one cluster or another.
-- grain: one row per job_no, attempt
with

unended as (

    select bounds.*
    from attempt_bounds as bounds
    left join attempt_ends as ends
        on
            bounds.job_no = ends.job_no
            and bounds.attempt = ends.attempt
    where ends.job_no is null

),

speakers as (

    select
        job_no,
        attempt,
        first_source_no as source_no
    from unended

    union

    -- only an attempt of several sources needs a look at its events
    select
        events.job_no,
        events.attempt,
        events.source_no
    from stg_events as events
    inner join unended
        on
            events.job_no = unended.job_no
            and events.attempt = unended.attempt
    where
        unended.first_source_no <> unended.last_source_no
        and events.event not in ('job', 'change')
        and (events.phase is null or events.phase <> 'queue')

),

-- where clusters have clocks: the one that such a source names, whatever others say of the job
named as (

    select
        events.job_no,
        events.source_no,
        arg_max(events.cluster, (events.at_us, events.cluster)) as cluster
    from stg_events as events
    where
        events.cluster is not null
        and events.source_no in (select parted.source_no from cluster_clocks as parted)
    group by events.job_no, events.source_no

)

select
    speakers.job_no,
    speakers.attempt,
    min(coalesce(parted.clock_us, sources.clock_us)) as clock_us
from speakers
inner join sources on speakers.source_no = sources.source_no
left join named
    on
        speakers.job_no = named.job_no
        and speakers.source_no = named.source_no
left join cluster_clocks as parted
    on
        named.source_no = parted.source_no
        and named.cluster = parted.cluster
group by speakers.job_no, speakers.attempt
