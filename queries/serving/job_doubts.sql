-- What two dumps make doubtful of a job: is it told under another name too, or otherwise than
-- before? Of jobs that have turned out to be one it is none.
-- grain: many rows per job_id, kind
with

doubted as (

    select
        kind,
        what,
        job_no,
        other_no
    from warehouse.doubts

    union all

    select
        kind,
        what,
        other_no as job_no,
        job_no as other_no
    from warehouse.doubts
    where other_no is not null

)

select distinct
    names.job_id,
    doubted.kind,
    doubted.what as detail
from doubted
inner join warehouse.job_names_kept as names on doubted.job_no = names.job_no
left join warehouse.job_names_kept as others on doubted.other_no = others.job_no
where names.base_job_no is distinct from others.base_job_no
