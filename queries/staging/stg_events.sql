-- Every event that counts, with its logical job and its attempt.
-- grain: one row per row_no
-- stored: no
select
    scoped.row_no,
    scoped.file_no,
    scoped.source_no,
    scoped.job_no,
    scoped.attempt,
    scoped.at_us,
    scoped.end_us,
    scoped.event,
    scoped.phase,
    scoped.stage,
    scoped.rank,
    scoped.rank as reporter,
    scoped.step,
    scoped.mode,
    scoped.ok,
    scoped.cache,
    scoped.recompiles,
    scoped.resumed_from_step,
    scoped.outcome,
    scoped.exit_code,
    scoped.signal,
    scoped.message,
    scoped.category,
    scoped.cause_category,
    scoped.cause_rule,
    scoped.cause_rank,
    scoped.evidence,
    scoped.evidence_line,
    scoped.team,
    scoped.user_name,
    scoped.workload,
    scoped.model,
    scoped.cluster,
    scoped.gpus,
    scoped.gpu_type,
    scoped.priority,
    scoped.name,
    scoped.partition_name,
    scoped.allocation_id,
    scoped.suspended_us,
    false as is_scheduler,
    cast(null as varchar) as launch,
    cast(null as varchar) as row_state
from scoped_events as scoped
where
    scoped.row_key is null
    and scoped.row_no not in (select elsewhere.row_no from stg_elsewhere as elsewhere)

union all

select
    scoped.row_no,
    scoped.file_no,
    scoped.source_no,
    told.job_no,
    told.attempt,
    scoped.at_us,
    scoped.end_us,
    -- the end of a RESIZING row is not the end of its attempt, only a sign of life
    case
        when scoped.event = 'attempt_end' and told.row_state = 'RESIZING'
            then cast('alive' as event_kind)
        else scoped.event
    end as event,
    scoped.phase,
    scoped.stage,
    scoped.rank,
    -- below zero: the source and then the rank, so that no source ends what another began
    case
        when told.teller is null then scoped.rank
        else -(told.teller * 4294967296 + coalesce(scoped.rank % 4294967295 + 1, 0))
    end as reporter,
    scoped.step,
    scoped.mode,
    scoped.ok,
    scoped.cache,
    scoped.recompiles,
    scoped.resumed_from_step,
    scoped.outcome,
    scoped.exit_code,
    scoped.signal,
    scoped.message,
    scoped.category,
    scoped.cause_category,
    scoped.cause_rule,
    scoped.cause_rank,
    scoped.evidence,
    scoped.evidence_line,
    coalesce(scoped.team, words.team) as team,
    coalesce(scoped.user_name, words.user_name) as user_name,
    coalesce(scoped.workload, words.workload) as workload,
    coalesce(scoped.model, words.model) as model,
    coalesce(scoped.cluster, words.cluster) as cluster,
    -- the row that follows has the size the attempt was resized to
    case when told.row_state = 'RESIZING' then null else coalesce(scoped.gpus, words.gpus) end
        as gpus,
    coalesce(scoped.gpu_type, words.gpu_type) as gpu_type,
    coalesce(scoped.priority, words.priority) as priority,
    coalesce(scoped.name, words.name) as name,
    coalesce(scoped.partition_name, words.partition_name) as partition_name,
    scoped.allocation_id,
    scoped.suspended_us,
    told.is_scheduler,
    told.launch,
    told.row_state
from scoped_events as scoped
inner join stg_numbered as told on scoped.row_no = told.row_no
left join stg_row_words as words on scoped.row_no = words.row_no
