-- One save = one maximal interval in which any reporter had a save of a step open.
-- grain: one row per attempt_no, step, captured_us
with

-- of a joined job one source may know the step that another does not
stepless as (

    select
        spans.attempt_no,
        spans.from_us,
        spans.to_us
    from phase_spans as spans
    inner join attempt_bounds as bounds on spans.attempt_no = bounds.attempt_no
    where
        spans.phase = 'checkpoint_save'
        and spans.step is null
        and bounds.is_joined
    group by spans.attempt_no, spans.from_us, spans.to_us

),

stepped as (

    select
        stepless.attempt_no,
        stepless.from_us,
        stepless.to_us,
        others.step,
        row_number() over (
            partition by stepless.attempt_no, stepless.from_us, stepless.to_us
            order by others.from_us asc, others.step asc
        ) as precedence
    from stepless
    inner join phase_spans as others
        on
            stepless.attempt_no = others.attempt_no
            and stepless.from_us <= others.to_us
            and stepless.to_us >= others.from_us
    where
        others.phase = 'checkpoint_save'
        and others.step is not null

),

told as (

    select
        spans.attempt_no,
        coalesce(spans.step, stepped.step) as step,
        spans.from_us,
        spans.to_us,
        spans.is_failed,
        spans.is_cut_off,
        spans.is_async
    from phase_spans as spans
    left join stepped
        on
            spans.attempt_no = stepped.attempt_no
            and spans.from_us = stepped.from_us
            and spans.to_us = stepped.to_us
            and stepped.precedence = 1
    where spans.phase = 'checkpoint_save'

),

-- most are one at a glance: at one instant all that was told of the step was open
together as (

    select
        attempt_no,
        step,
        min(from_us) as captured_us,
        max(to_us) as saved_us,
        bool_or(is_failed) as is_failed,
        bool_or(is_cut_off) as is_cut_off,
        bool_or(is_async) as is_async,
        max(from_us) <= min(to_us) as is_one
    from told
    group by attempt_no, step

),

spans as (

    select
        told.*,
        max(told.to_us) over (
            partition by told.attempt_no, told.step
            order by told.from_us asc, told.to_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from told
    inner join together
        on
            told.attempt_no = together.attempt_no
            and told.step is not distinct from together.step
    where not together.is_one

),

grouped as (

    select
        *,
        sum(case when from_us <= reach_us then 0 else 1 end) over (
            partition by attempt_no, step
            order by from_us asc, to_us asc
            -- with its equals: which of them comes first differs from one window to the next
            range unbounded preceding
        ) as save
    from spans

),

merged as (

    select
        attempt_no,
        step,
        captured_us,
        saved_us,
        is_failed,
        is_cut_off,
        is_async
    from together
    where is_one

    union all

    select
        attempt_no,
        step,
        min(from_us) as captured_us,
        max(to_us) as saved_us,
        bool_or(is_failed) as is_failed,
        bool_or(is_cut_off) as is_cut_off,
        bool_or(is_async) as is_async
    from grouped
    group by attempt_no, step, save

)

select
    merged.attempt_no,
    windows.job_no,
    windows.attempt,
    merged.step,
    merged.captured_us,
    merged.saved_us,
    case
        when merged.is_failed then 'failed'
        when merged.is_cut_off then 'cut_off'
        else 'good'
    end as status,
    merged.is_async
from merged
inner join attempt_windows as windows on merged.attempt_no = windows.attempt_no
