-- One upload = one maximal interval in which any reporter had the upload of a step open.
-- grain: one row per attempt_no, step, from_us
with

told as (

    select
        attempt_no,
        step,
        from_us,
        to_us,
        is_failed or is_cut_off as is_bad
    from phase_spans
    where phase = 'checkpoint_upload'

),

-- most are one at a glance: at one instant all that was told of the step was open
together as (

    select
        attempt_no,
        step,
        min(from_us) as from_us,
        max(to_us) as to_us,
        not bool_or(is_bad) as is_good,
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
        ) as upload
    from spans

)

select
    attempt_no,
    step,
    from_us,
    to_us,
    is_good
from together
where is_one

union all

select
    attempt_no,
    step,
    min(from_us) as from_us,
    max(to_us) as to_us,
    not bool_or(is_bad) as is_good
from grouped
group by attempt_no, step, upload
