-- One upload = one maximal interval in which any reporter had the upload of a step open.
-- grain: one row per attempt_no, step, from_us
with

spans as (

    select
        attempt_no,
        step,
        from_us,
        to_us,
        is_failed or is_cut_off as is_bad,
        max(to_us) over (
            partition by attempt_no, step
            order by from_us asc, to_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from phase_spans
    where phase = 'checkpoint_upload'

),

grouped as (

    select
        *,
        sum(case when from_us <= reach_us then 0 else 1 end) over (
            partition by attempt_no, step
            order by from_us asc, to_us asc
            -- with its equals: which of them comes first differs from one window to the next
            range unbounded preceding
        ) as upload
    from spans

)

select
    attempt_no,
    step,
    min(from_us) as from_us,
    max(to_us) as to_us,
    not bool_or(is_bad) as is_good
from grouped
group by attempt_no, step, upload
