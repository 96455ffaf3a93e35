-- Who and what: the newest word on each attribute of a job, at equal times the greatest.
-- grain: one row per job_no
with

told as (

    select
        job_no,
        at_us,
        team,
        user_name,
        workload,
        model,
        cluster,
        gpu_type,
        priority,
        name,
        partition_name
    from stg_events
    where
        event <> 'change'
        and (
            team is not null or user_name is not null or workload is not null
            or model is not null or cluster is not null or gpu_type is not null
            or priority is not null or name is not null or partition_name is not null
        )

),

newest as (

    select
        job_no,
        max(case when team is not null then at_us end) as team_us,
        max(case when user_name is not null then at_us end) as user_name_us,
        max(case when workload is not null then at_us end) as workload_us,
        max(case when model is not null then at_us end) as model_us,
        max(case when cluster is not null then at_us end) as cluster_us,
        max(case when gpu_type is not null then at_us end) as gpu_type_us,
        max(case when priority is not null then at_us end) as priority_us,
        max(case when name is not null then at_us end) as name_us,
        max(case when partition_name is not null then at_us end) as partition_name_us
    from told
    group by job_no

)

select
    told.job_no,
    max(case when told.at_us = newest.team_us then told.team end) as team,
    max(case when told.at_us = newest.user_name_us then told.user_name end) as user_name,
    max(case when told.at_us = newest.workload_us then told.workload end) as workload,
    max(case when told.at_us = newest.model_us then told.model end) as model,
    max(case when told.at_us = newest.cluster_us then told.cluster end) as cluster,
    max(case when told.at_us = newest.gpu_type_us then told.gpu_type end) as gpu_type,
    max(case when told.at_us = newest.priority_us then told.priority end) as priority,
    max(case when told.at_us = newest.name_us then told.name end) as job_name,
    max(case when told.at_us = newest.partition_name_us then told.partition_name end)
        as partition_name
from told
inner join newest on told.job_no = newest.job_no
group by told.job_no
