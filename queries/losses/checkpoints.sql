-- When each good save became something to restore from. Null: never.
-- grain: one row per attempt_no, step, captured_us
with

uploading_jobs as (

    select job_no
    from stg_events
    where phase = 'checkpoint_upload'
    group by job_no

),

waiting as (

    select saves.*
    from checkpoint_saves as saves
    inner join uploading_jobs on saves.job_no = uploading_jobs.job_no
    where
        saves.status = 'good'
        and saves.is_async

),

uploaded_steps as (

    select
        attempt_no,
        step
    from checkpoint_uploads
    where step is not null
    group by attempt_no, step

),

matched as (

    -- the upload of the same step
    select
        waiting.attempt_no,
        waiting.step,
        waiting.captured_us,
        uploads.to_us,
        uploads.is_good,
        row_number() over (
            partition by waiting.attempt_no, waiting.step, waiting.captured_us
            order by uploads.from_us asc
        ) as precedence
    from waiting
    inner join checkpoint_uploads as uploads
        on
            waiting.attempt_no = uploads.attempt_no
            and waiting.step = uploads.step
            and waiting.captured_us <= uploads.from_us

),

unmatched as (

    select
        waiting.attempt_no,
        waiting.step,
        waiting.captured_us
    from waiting
    left join uploaded_steps
        on
            waiting.attempt_no = uploaded_steps.attempt_no
            and waiting.step = uploaded_steps.step
    where uploaded_steps.step is null

),

lined_up as (

    select
        attempt_no,
        captured_us as at_us,
        step,
        1 as is_save,
        cast(null as bigint) as to_us,
        cast(null as boolean) as is_good
    from unmatched

    union all

    select
        attempt_no,
        from_us as at_us,
        step,
        0 as is_save,
        to_us,
        is_good
    from checkpoint_uploads
    where attempt_no in (select unmatched.attempt_no from unmatched)

),

followed as (

    -- else the first upload after it
    select
        attempt_no,
        step,
        at_us as captured_us,
        is_save,
        first_value(to_us ignore nulls) over in_order as to_us,
        first_value(is_good ignore nulls) over in_order as is_good
    from lined_up
    window in_order as (
        partition by attempt_no
        order by at_us asc, is_save desc, to_us asc nulls first, step asc nulls last
        rows between current row and unbounded following
    )

),

awaited as (

    select
        attempt_no,
        step,
        captured_us,
        to_us,
        is_good
    from matched
    where precedence = 1

    union all

    select
        attempt_no,
        step,
        captured_us,
        to_us,
        is_good
    from followed
    where is_save = 1

)

select
    saves.attempt_no,
    saves.job_no,
    saves.attempt,
    saves.step,
    saves.captured_us,
    saves.saved_us,
    saves.status,
    saves.is_async,
    case
        when saves.status <> 'good' then null
        when not saves.is_async or uploading_jobs.job_no is null then saves.saved_us
        when awaited.is_good then awaited.to_us
    end as durable_us
from checkpoint_saves as saves
left join uploading_jobs on saves.job_no = uploading_jobs.job_no
left join awaited
    on
        saves.attempt_no = awaited.attempt_no
        and saves.step is not distinct from awaited.step
        and saves.captured_us = awaited.captured_us
