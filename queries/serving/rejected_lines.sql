-- Lines that cannot be events: set aside, never dropped.
-- grain: one row per file_no, line_number
select
    file_no,
    file,
    line_number,
    reason,
    detail,
    line
from warehouse.rejected_lines
order by file asc, file_no asc, line_number asc
