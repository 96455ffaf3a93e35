-- Contradictions between good lines of a job, and what was left out.
-- grain: many rows per job_id, attempt, kind
-- changes by: job_id
select
    names.job_id,
    found.attempt,
    found.kind,
    concat(
        found.what, ' at ', strftime(make_timestamp(found.first_us), '%Y-%m-%dT%H:%M:%S.%gZ'),
        case when found.times > 1 then concat(' and ', found.times - 1, ' more') else '' end
    ) as detail
from warehouse.contradiction_facts_kept as found
inner join publishing_names as names on found.job_no = names.job_no
