-- The Parquet file of each day of attempt end, in the folder detail/ of the warehouse.
-- grain: one row per day
select
    day,
    file
from warehouse.detail_files
order by day asc
