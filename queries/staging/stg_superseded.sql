-- Events that lost to another event of the same job and event_id: the latest telling stays.
-- grain: one row per row_no
with

told_twice as (

    select
        job_no,
        event_id
    from scoped_events
    where event_id is not null
    group by job_no, event_id
    having count(*) > 1

),

ranked as (

    select
        scoped.row_no,
        row_number() over (
            partition by scoped.job_no, scoped.event_id
            order by
                scoped.at_us desc,
                concat_ws(
                    '|', scoped.event, scoped.attempt, scoped.phase, scoped.stage, scoped.rank,
                    scoped.end_us, scoped.step, scoped.mode, scoped.ok, scoped.outcome,
                    scoped.exit_code, scoped.signal, scoped.resumed_from_step, scoped.samples,
                    scoped.category, scoped.message, scoped.team, scoped.gpus, scoped.workload,
                    scoped.allocation_id, scoped.attrs
                ) desc,
                scoped.row_no asc
        ) as precedence
    from scoped_events as scoped
    inner join told_twice
        on
            scoped.job_no = told_twice.job_no
            and scoped.event_id = told_twice.event_id

)

select row_no
from ranked
where precedence > 1
