-- Failure messages that no rule explains, as templates: an owner can add a rule.
-- grain: one row per template
select
    template,
    count,
    example,
    make_timestamp(first_us) as first_seen_at,
    make_timestamp(last_us) as last_seen_at
from warehouse.unmatched_templates
order by count desc, template asc
