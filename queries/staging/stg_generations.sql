-- Which generation of its stretch each event tells. A launch that takes the place of another counts
-- from 0 anew: it goes on from the generation that runs, and what it says before that has none.
-- grain: one row per row_no
-- empty without: woven_jobs
with

told as (

    select
        placed.stretch_no,
        events.row_no,
        events.job_no,
        events.source_no,
        events.launch,
        events.at_us,
        events.generation,
        events.is_life,
        events.is_begin,
        events.is_work
    from stg_run_events as events
    inner join stg_run_stretches as placed on events.row_no = placed.row_no
    where
        events.generation is not null
        and placed.stretch_no is not null

),

begun as (

    select
        stretch_no,
        job_no,
        source_no,
        generation,
        min(at_us) as from_us
    from told
    where is_life
    group by stretch_no, job_no, source_no, generation

),

firsts as (

    select
        stretch_no,
        job_no,
        source_no,
        launch,
        min(generation) as generation
    from told
    group by stretch_no, job_no, source_no, launch

),

-- when its workers first ran; of one whose begin is not told that is not known
joined as (

    select
        told.stretch_no,
        told.job_no,
        told.source_no,
        told.launch,
        told.generation,
        coalesce(
            min(case when told.is_work then told.at_us end),
            min(case when told.is_begin then told.at_us end)
        ) as at_us
    from told
    inner join firsts
        on
            told.stretch_no = firsts.stretch_no
            and told.job_no = firsts.job_no
            and told.source_no = firsts.source_no
            and told.launch = firsts.launch
            and told.generation = firsts.generation
    group by told.stretch_no, told.job_no, told.source_no, told.launch, told.generation
    having bool_or(told.is_begin)

),

late as (

    select
        joined.stretch_no,
        joined.job_no,
        joined.source_no,
        joined.launch,
        max(begun.generation) - joined.generation as ahead,
        arg_max(begun.from_us, begun.generation) as from_us
    from joined
    inner join begun
        on
            joined.stretch_no = begun.stretch_no
            and joined.job_no = begun.job_no
            and joined.source_no = begun.source_no
            and joined.generation < begun.generation
            and joined.at_us >= begun.from_us
    group by
        joined.stretch_no, joined.job_no, joined.source_no, joined.launch, joined.generation

)

select
    told.row_no,
    case
        when late.launch is null then told.generation
        when told.at_us >= late.from_us then told.generation + late.ahead
    end as generation
from told
left join late
    on
        told.stretch_no = late.stretch_no
        and told.job_no = late.job_no
        and told.source_no = late.source_no
        and told.launch = late.launch
