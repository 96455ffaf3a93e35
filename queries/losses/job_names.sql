-- The id under which each logical job is shown.
-- grain: one row per job_no
with

named as (

    select
        windows.job_no,
        windows.job_no as base_job_no,
        cast(null as bigint) as chain_submitted_us
    from attempt_windows as windows
    where windows.job_no < 4294967296
    group by windows.job_no

    union all

    -- a reused JobID names its later jobs by their first submission as well
    select
        job_no,
        base_job_no,
        min(chain_submitted_us) as chain_submitted_us
    from stg_scheduler_rows
    where chain > 1
    group by job_no, base_job_no

)

select
    named.job_no,
    named.base_job_no,
    case
        when named.chain_submitted_us is null then job_keys.job_key
        else concat(job_keys.job_key, '@', named.chain_submitted_us // 1000000)
    end as job_id
from named
inner join job_keys on named.base_job_no = job_keys.job_no
