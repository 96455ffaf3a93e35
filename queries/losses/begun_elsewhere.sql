-- Attempts that begin anew, by their logs, in another folder than those before them: where files
-- are called by their folder or their own name, runs of two projects may have one name. A run that
-- is tried again goes on where it had saved, or lies where it lay. Folders below the name (`1153`,
-- `1154`) may be tries as well: they are another place only where there was a save to go on from.
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
        ) as above,
        regexp_extract(told.file, '(?s)^(.*[/\\])', 1) as folder
    from told
    inner join job_keys on told.name_no = job_keys.job_no

),

lying as (

    select
        job_no,
        attempt,
        first_step,
        first_us,
        above as place,
        false as is_below_name
    from placed
    where above <> ''

    union all

    select
        job_no,
        attempt,
        first_step,
        first_us,
        folder as place,
        true as is_below_name
    from placed
    where above <> ''

),

begun as (

    select
        job_no,
        attempt,
        is_below_name,
        -- what hosts, ranks and tries have of their own is no other place
        regexp_replace(
            place, '(?i)/((node|host|rank|worker|agent|attempt|retry|try)s?[-_.]?\d*/)+', '/', 'g'
        ) as place,
        min(first_step) as first_step,
        min(first_us) as first_us
    from lying
    group by job_no, attempt, is_below_name, place

),

saved as (

    select
        job_no,
        attempt,
        step
    from checkpoints
    where
        durable_us is not null
        and job_no in (select job_no from begun)

),

anew as (

    select
        begun.*,
        earlier.attempt as attempt_before,
        earlier.place as place_before
    from begun
    inner join begun as earlier
        on
            begun.job_no = earlier.job_no
            and begun.is_below_name = earlier.is_below_name
            and begun.attempt > earlier.attempt
            and begun.first_step <= earlier.first_step
    where
        not exists (
            select 1
            from begun as known
            where
                known.job_no = begun.job_no
                and known.is_below_name = begun.is_below_name
                and known.attempt < begun.attempt
                and known.place = begun.place
        )
        and (
            not begun.is_below_name
            or exists (
                select 1
                from saved
                where
                    saved.job_no = begun.job_no
                    and saved.attempt < begun.attempt
                    and saved.step > begun.first_step
            )
        )

)

select
    job_no,
    attempt,
    min(first_us) as first_us,
    min_by(first_step, (is_below_name, attempt_before, place, place_before)) as first_step,
    min_by(place, (is_below_name, attempt_before, place, place_before)) as place,
    min_by(place_before, (is_below_name, attempt_before, place, place_before)) as place_before
from anew
group by job_no, attempt
