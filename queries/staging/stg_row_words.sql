-- Who and what a scheduler's row is of, where it was told more than once: what the telling that
-- holds leaves out, the next one that has it says. A dump may have fewer columns than another.
-- grain: one row per row_no
-- empty without: scoped_events.row_key
with

again as (

    select
        job_no,
        row_key,
        slot
    from stg_row_tellings
    where precedence = 2

)

select
    max(case when tellings.precedence = 1 then tellings.row_no end) as row_no,
    -- a null is no word
    arg_min(scoped.team, tellings.precedence) as team,
    arg_min(scoped.user_name, tellings.precedence) as user_name,
    arg_min(scoped.workload, tellings.precedence) as workload,
    arg_min(scoped.model, tellings.precedence) as model,
    arg_min(scoped.cluster, tellings.precedence) as cluster,
    arg_min(scoped.gpus, tellings.precedence) as gpus,
    arg_min(scoped.gpu_type, tellings.precedence) as gpu_type,
    arg_min(scoped.priority, tellings.precedence) as priority,
    arg_min(scoped.name, tellings.precedence) as name,
    arg_min(scoped.partition_name, tellings.precedence) as partition_name
from stg_row_tellings as tellings
inner join again
    on
        tellings.job_no = again.job_no
        and tellings.row_key = again.row_key
        and tellings.slot = again.slot
inner join scoped_events as scoped on tellings.row_no = scoped.row_no
group by tellings.job_no, tellings.row_key, tellings.slot
