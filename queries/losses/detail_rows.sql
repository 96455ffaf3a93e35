-- What the page of one job draws: areas as charged, spans as reported, saves and failures.
-- grain: many rows per job_no, attempt, kind
-- stored: no
with

drawn as (

    select
        attempt_no,
        'area' as kind,
        cast(area as varchar) as name,
        cast(null as varchar) as category,
        cast(null as varchar) as stage,
        cast(null as bigint) as rank,
        from_us as started_us,
        to_us as ended_us,
        cast(null as bigint) as step,
        case when is_recovery then 'recovery' end as detail,
        cast(null as integer) as file_no
    from area_intervals

    union all

    select
        attempt_no,
        'span' as kind,
        cast(phase as varchar) as name,
        cast(null as varchar) as category,
        stage,
        rank,
        told_from_us as started_us,
        to_us as ended_us,
        step,
        case when not has_own_end then 'no end was reported' end as detail,
        file_no
    from phase_spans

    union all

    select
        attempt_no,
        'save' as kind,
        status as name,
        cast(null as varchar) as category,
        cast(null as varchar) as stage,
        cast(null as bigint) as rank,
        captured_us as started_us,
        saved_us as ended_us,
        step,
        case when is_async then 'async' else 'sync' end as detail,
        cast(null as integer) as file_no
    from checkpoint_saves

    union all

    select
        windows.attempt_no,
        'failure' as kind,
        cast(null as varchar) as name,
        events.category,
        cast(null as varchar) as stage,
        events.rank,
        events.at_us as started_us,
        cast(null as bigint) as ended_us,
        cast(null as bigint) as step,
        events.message as detail,
        events.file_no
    from stg_events as events
    inner join attempt_windows as windows
        on
            events.job_no = windows.job_no
            and events.attempt = windows.attempt
    where events.event = 'failure'

)

select
    windows.job_no % 4294967296 as base_job_no,
    windows.job_no,
    windows.attempt,
    cast(drawn.kind as enum('area', 'span', 'save', 'failure')) as kind,
    cast(drawn.name as enum(
        -- areas and phases
        'queue',
        'scheduling',
        'hardware_setup',
        'launcher_init',
        'trainer_init',
        'pt2_compile',
        'checkpoint_load',
        'training',
        'effective',
        'unsaved',
        'hang',
        'checkpoint_save',
        'checkpoint_upload',
        'evaluation',
        'data_wait',
        'shutdown',
        'unaccounted',
        'uninstrumented',
        -- of saves
        'good',
        'failed',
        'cut_off'
    )) as name,
    drawn.category,
    drawn.stage,
    drawn.rank,
    drawn.started_us,
    drawn.ended_us,
    drawn.step,
    drawn.detail,
    drawn.file_no
from drawn
inner join attempt_windows as windows on drawn.attempt_no = windows.attempt_no
