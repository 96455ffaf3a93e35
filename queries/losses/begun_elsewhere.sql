-- Attempts that begin anew, by their logs, in another folder than those before them: where files
-- are called by their folder or their own name, runs of two projects may have one name. A run that
-- is tried again goes on where it had saved, or lies where it lay.
-- grain: one row per job_no, attempt
with

told as (

    select
        numbered.job_no,
        numbered.attempt,
        scoped.job_no as name_no,
        files.file,
        min(scoped.step) as first_step,
        min(scoped.at_us) as first_us
    from files
    inner join scoped_events as scoped on files.file_no = scoped.file_no
    inner join stg_numbered as numbered on scoped.row_no = numbered.row_no
    where
        files.format in ('training-log', 'torchelastic')
        and scoped.event = 'progress'
        and scoped.step is not null
    group by numbered.job_no, numbered.attempt, name_no, files.file

),

placed as (

    select
        told.job_no,
        told.attempt,
        told.first_step,
        told.first_us,
        regexp_extract(
            told.file,
            concat('(?s)^(.*[/\\])', regexp_escape(job_keys.job_key), '[^[:alnum:]]'),
            1
        ) as above
    from told
    inner join job_keys on told.name_no = job_keys.job_no

),

begun as (

    select
        job_no,
        attempt,
        -- what hosts, ranks and tries have of their own is no other place
        regexp_replace(
            above, '(?i)/((node|host|rank|worker|agent|attempt|retry|try)s?[-_.]?\d*/)+', '/', 'g'
        ) as place,
        min(first_step) as first_step,
        min(first_us) as first_us
    from placed
    where above <> ''
    group by job_no, attempt, place

)

select
    begun.job_no,
    begun.attempt,
    min(begun.first_us) as first_us,
    min_by(begun.first_step, (earlier.attempt, begun.place, earlier.place)) as first_step,
    min_by(begun.place, (earlier.attempt, begun.place, earlier.place)) as place,
    min_by(earlier.place, (earlier.attempt, begun.place, earlier.place)) as place_before
from begun
inner join begun as earlier
    on
        begun.job_no = earlier.job_no
        and begun.attempt > earlier.attempt
        and begun.first_step <= earlier.first_step
where
    not exists (
        select 1
        from begun as known
        where
            known.job_no = begun.job_no
            and known.attempt < begun.attempt
            and known.place = begun.place
    )
group by begun.job_no, begun.attempt
