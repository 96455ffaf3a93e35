-- In which file of the folder detail/ the page of a job finds what it draws.
-- grain: one row per job_id
-- changes by: job_id
select
    names.job_id,
    names.job_no,
    details.file
from publishing_names as names
inner join warehouse.job_details as details on names.base_job_no = details.base_job_no
