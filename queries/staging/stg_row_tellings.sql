-- Everything that a scheduler's row was ever told to say: of the tellings of each thing the one
-- that holds is first.
-- grain: one row per row_no
-- empty without: scoped_events.row_key
with

told as (

    select
        scoped.row_no,
        scoped.source_no,
        scoped.job_no,
        scoped.row_key,
        scoped.event,
        scoped.phase,
        scoped.at_us,
        scoped.end_us,
        scoped.gpus,
        scoped.outcome,
        scoped.category,
        scoped.exit_code,
        scoped.signal,
        scoped.message,
        scoped.suspended_us,
        scoped.file_no,
        concat_ws(
            '|',
            coalesce(scoped.team, ''),
            coalesce(scoped.user_name, ''),
            coalesce(scoped.workload, ''),
            coalesce(scoped.model, ''),
            coalesce(scoped.cluster, ''),
            coalesce(scoped.gpu_type, ''),
            coalesce(scoped.priority, ''),
            coalesce(scoped.name, ''),
            coalesce(scoped.partition_name, '')
        ) as words,
        files.clock_us,
        -- what tells the same end is one telling, as old as its newest
        max(files.clock_us) over (
            partition by
                scoped.job_no, scoped.row_key, scoped.event, scoped.phase, scoped.at_us,
                scoped.outcome
        ) as told_us,
        case
            when scoped.exit_code is null and scoped.signal is null then 1
            else 0
        end as is_silent,
        case
            when scoped.event in ('attempt_end', 'alive') then 'end'
            when scoped.event in ('phase_start', 'phase_end') then concat('phase ', scoped.phase)
            else cast(scoped.event as varchar)
        end as slot,
        -- a terminal state beats a live one, the start of a row one that a dump cut
        case
            when scoped.event = 'attempt_end' then 0
            when scoped.event = 'attempt_start' and scoped.at_us = cuts.started_us then 0
            when scoped.phase = 'queue' and scoped.end_us = cuts.started_us then 0
            else 1
        end as rank_of_kind
    from scoped_events as scoped
    inner join files on scoped.file_no = files.file_no
    left join stg_scheduler_cuts as cuts
        on
            scoped.job_no = cuts.job_no
            and scoped.row_key = cuts.row_key
    where scoped.row_key is not null

)

select
    row_no,
    source_no,
    job_no,
    row_key,
    event,
    phase,
    at_us,
    slot,
    row_number() over (
        partition by job_no, row_key, slot
        order by
            rank_of_kind asc,
            told_us desc,
            at_us desc,
            is_silent asc,  -- some dialects have no exit codes
            clock_us desc,
            -- one dump that tells a row twice, or two dumps of one moment, and not alike
            end_us desc nulls last,
            gpus desc nulls last,
            outcome desc nulls last,
            category desc nulls last,
            message desc nulls last,
            exit_code desc nulls last,
            signal desc nulls last,
            suspended_us desc nulls last,
            words desc,
            file_no asc,
            row_no asc
    ) as precedence
from told
