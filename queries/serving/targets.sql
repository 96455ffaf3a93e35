-- The ETT that each team aims at; `fleet` is the default for all.
-- grain: one row per team
select
    team,
    ett_ratio
from publishing_targets
order by team asc
