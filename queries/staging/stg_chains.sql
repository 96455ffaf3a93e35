-- The scheduler's jobs that trainers may speak of, with the time that each can be meant for.
-- grain: one row per job_no
-- empty without: woven_jobs
with

told as (

    select
        scheduler_rows.base_job_no,
        scheduler_rows.job_no,
        scheduler_rows.chain,
        coalesce(min(allocations.begin_us), min(scheduler_rows.row_submitted_us)) as begin_us,
        max(allocations.until_us) as until_us,
        min(case when scheduler_rows.row_state = 'REVOKED' then 1 else 0 end) = 1 as is_revoked
    from stg_scheduler_rows as scheduler_rows
    inner join woven_jobs as woven on scheduler_rows.base_job_no = woven.job_no
    left join stg_allocations as allocations
        on
            scheduler_rows.job_no = allocations.job_no
            and scheduler_rows.attempt = allocations.try
    group by scheduler_rows.base_job_no, scheduler_rows.job_no, scheduler_rows.chain

)

select
    base_job_no,
    job_no,
    chain,
    begin_us,
    -- a number that was given out again means the later job
    least(
        coalesce(until_us, begin_us),
        lead(begin_us) over (partition by base_job_no order by chain asc)
    ) as until_us,
    -- of a federated job, that another cluster took it: it never runs here
    is_revoked
from told
