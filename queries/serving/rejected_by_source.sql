-- Lines set aside, by source and reason.
-- grain: one row per source, reason
select
    files.source,
    rejected.reason,
    count(*) as lines
from warehouse.rejected_lines as rejected
inner join publishing_files as files on rejected.file_no = files.file_no
group by files.source, rejected.reason
order by files.source asc, rejected.reason asc
