-- Events that lost to another event of the same job and event_id: the latest telling stays,
-- but a complete span before its start.
-- grain: one row per row_no
with

told_twice as (

    select
        job_no,
        event_id
    from scoped_events
    where event_id <> ''
    group by job_no, event_id
    having count(*) > 1

),

worded as (

    select
        scoped.row_no,
        scoped.job_no,
        scoped.event_id,
        scoped.at_us,
        scoped.phase,
        scoped.event = 'phase_start' and scoped.end_us is null as is_begun,
        scoped.event = 'phase_start' and scoped.end_us is not null as is_whole,
        concat_ws(
            '|',
            coalesce(cast(scoped.event as varchar), ''),
            coalesce(cast(scoped.attempt as varchar), ''),
            coalesce(cast(scoped.phase as varchar), ''),
            coalesce(cast(scoped.stage as varchar), ''),
            coalesce(cast(scoped.rank as varchar), ''),
            coalesce(cast(scoped.end_us as varchar), ''),
            coalesce(cast(scoped.step as varchar), ''),
            coalesce(cast(scoped.mode as varchar), ''),
            coalesce(cast(scoped.ok as varchar), ''),
            coalesce(cast(scoped.samples as varchar), ''),
            coalesce(cast(scoped.host as varchar), ''),
            coalesce(cast(scoped.allocation_id as varchar), ''),
            coalesce(cast(scoped.cache as varchar), ''),
            coalesce(cast(scoped.recompiles as varchar), ''),
            coalesce(cast(scoped.resumed_from_step as varchar), ''),
            coalesce(cast(scoped.outcome as varchar), ''),
            coalesce(cast(scoped.exit_code as varchar), ''),
            coalesce(cast(scoped.signal as varchar), ''),
            coalesce(cast(scoped.message as varchar), ''),
            coalesce(cast(scoped.category as varchar), ''),
            coalesce(cast(scoped.component as varchar), ''),
            coalesce(cast(scoped.team as varchar), ''),
            coalesce(cast(scoped.user_name as varchar), ''),
            coalesce(cast(scoped.workload as varchar), ''),
            coalesce(cast(scoped.model as varchar), ''),
            coalesce(cast(scoped.cluster as varchar), ''),
            coalesce(cast(scoped.gpus as varchar), ''),
            coalesce(cast(scoped.gpu_type as varchar), ''),
            coalesce(cast(scoped.priority as varchar), ''),
            coalesce(cast(scoped.preempted_by as varchar), ''),
            coalesce(cast(scoped.name as varchar), ''),
            coalesce(cast(scoped.partition_name as varchar), ''),
            coalesce(cast(scoped.description as varchar), ''),
            coalesce(cast(scoped.scheduler_job as varchar), '')
        ) as says,
        -- where it stands, and how its launch is called
        concat_ws(
            '|',
            coalesce(cast(scoped.attrs as varchar), ''),
            coalesce(cast(scoped.run_key as varchar), ''),
            coalesce(cast(scoped.run_generation as varchar), ''),
            coalesce(cast(scoped.run_restart as varchar), '')
        ) as told_as
    from scoped_events as scoped
    inner join told_twice
        on
            scoped.job_no = told_twice.job_no
            and scoped.event_id = told_twice.event_id

),

ranked as (

    select
        *,
        row_number() over (
            partition by job_no, event_id
            -- a span that is over goes before word of its start
            order by is_whole desc, at_us desc, says desc, told_as desc, row_no asc
        ) as precedence
    from worded

)

select
    later.row_no,
    kept.row_no as kept_row_no,
    -- word of a span's start, which the whole span only completes
    later.is_begun and kept.is_whole and later.phase = kept.phase as is_completed,
    -- an exporter that heard of no success sends again; a dump goes on where another had ended
    later.at_us = kept.at_us and later.says = kept.says as is_repeated
from ranked as later
inner join ranked as kept
    on
        later.job_no = kept.job_no
        and later.event_id = kept.event_id
        and kept.precedence = 1
where later.precedence > 1
