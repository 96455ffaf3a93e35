-- Jobs that `ett.toml` leaves out of ratios and rollups; they stay visible as excluded.
-- grain: one row per job_no
select attributes.job_no
from job_attributes as attributes
inner join exclusions
    on
        (
            exclusions.field = 'partition'
            and attributes.partition_name like exclusions.pattern escape '\'
        )
        or (exclusions.field = 'name' and attributes.job_name like exclusions.pattern escape '\')
group by attributes.job_no
