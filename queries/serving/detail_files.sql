-- The Parquet files in the folder detail/ of the warehouse that hold what pages of jobs draw.
-- grain: one row per file
select file
from warehouse.detail_files
order by file asc
