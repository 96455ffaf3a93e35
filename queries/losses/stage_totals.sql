-- Time each stage of each attempt was open in any rank, and how much of it before the first batch;
-- overlapping stages overlap.
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
    spans.attempt_no,
    spans.phase,
    spans.stage,
    cast(
        sum(
            greatest(
                spans.to_us - greatest(spans.from_us, coalesce(spans.reach_us, spans.from_us)), 0
            )
        ) as bigint
    ) as us,
    cast(
        sum(
            greatest(
                least(spans.to_us, coalesce(batches.first_batch_us, spans.to_us))
                - greatest(spans.from_us, coalesce(spans.reach_us, spans.from_us)),
                0
            )
        ) as bigint
    ) as startup_us
from spans
left join first_batches as batches on spans.attempt_no = batches.attempt_no
group by spans.attempt_no, spans.phase, spans.stage
