-- One save = one maximal interval in which any reporter had a save of a step open.
-- grain: one row per attempt_no, step, captured_us
with

spans as (

    select
        attempt_no,
        step,
        from_us,
        to_us,
        is_failed,
        is_cut_off,
        is_async,
        max(to_us) over (
            partition by attempt_no, step
            order by from_us asc, to_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from phase_spans
    where phase = 'checkpoint_save'

),

grouped as (

    select
        *,
        sum(case when from_us <= reach_us then 0 else 1 end) over (
            partition by attempt_no, step
            order by from_us asc, to_us asc
            rows unbounded preceding
        ) as save
    from spans

),

merged as (

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
