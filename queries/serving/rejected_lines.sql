-- Lines that cannot be events: set aside, never dropped.
-- grain: one row per file, line_number
select
    file,
    line_number,
    reason,
    detail,
    line
from warehouse.rejected_lines
order by file asc, line_number asc
