-- Failure messages that no rule matches, as templates. Classification is not part of this release.
-- grain: one row per template
select
    cast(null as varchar) as template,
    cast(null as bigint) as count,
    cast(null as varchar) as example,
    cast(null as timestamp) as first_seen_at,
    cast(null as timestamp) as last_seen_at
where false
