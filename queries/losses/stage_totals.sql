-- Time each stage of each attempt was open in any rank; overlapping stages overlap.
-- grain: one row per attempt_no, phase, stage
with

spans as (

    select
        attempt_no,
        phase,
        stage,
        from_us,
        to_us,
        max(to_us) over (
            partition by attempt_no, phase, stage
            order by from_us asc, to_us asc
            rows between unbounded preceding and 1 preceding
        ) as reach_us
    from phase_spans
    where
        stage is not null
        and to_us > from_us

)

select
    attempt_no,
    phase,
    stage,
    cast(
        sum(greatest(to_us - greatest(from_us, coalesce(reach_us, from_us)), 0)) as bigint
    ) as us
from spans
group by attempt_no, phase, stage
