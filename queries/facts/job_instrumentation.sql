-- Can the sources of a job say what it did? METRICS.md section 2, Instrumented.
-- grain: one row per job_no
with

spoken as (

    select
        job_no,
        first_source_no as source_no
    from attempt_bounds

    union

    select
        job_no,
        last_source_no as source_no
    from attempt_bounds

    union

    -- what attempts are not made of
    select
        job_no,
        source_no
    from stg_events
    where
        event = 'job'
        or phase = 'queue'

    union

    -- only where several sources speak of an attempt may there be a third
    select
        events.job_no,
        events.source_no
    from stg_events as events
    inner join attempt_bounds as bounds
        on
            events.job_no = bounds.job_no
            and events.attempt = bounds.attempt
    where bounds.first_source_no <> bounds.last_source_no

),

able as (

    select
        spoken.job_no,
        bool_or(sources.says_training) as says_training,
        bool_or(sources.says_saves or sources.says_resumes) as says_restores
    from spoken
    inner join sources on spoken.source_no = sources.source_no
    group by spoken.job_no

),

-- a format that may hold training or may not is known by what it held
trained as (

    select windows.job_no
    from phase_spans as spans
    inner join attempt_windows as windows on spans.attempt_no = windows.attempt_no
    inner join able on windows.job_no = able.job_no
    where
        spans.phase = 'training'
        and not able.says_training
    group by windows.job_no

),

-- what was printed into a buffer came at other times than it tells
buffered as (

    select job_no
    from stg_events
    where
        event = 'alive'
        and stage = 'buffered'
    group by job_no

),

interrupted as (

    select job_no
    from attempt_windows
    where outcome in ('failed', 'preempted', 'timeout', 'lost')
    group by job_no

)

select
    able.job_no,
    buffered.job_no is null
    and (able.says_training or trained.job_no is not null)
    and (able.says_restores or interrupted.job_no is null) as is_instrumented
from able
left join trained on able.job_no = trained.job_no
left join buffered on able.job_no = buffered.job_no
left join interrupted on able.job_no = interrupted.job_no
