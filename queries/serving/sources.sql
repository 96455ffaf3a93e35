-- Every dump format on every cluster that spoke, and how far it got.
-- grain: one row per source
select
    sources.source,
    sources.format,
    sources.cluster,
    make_timestamp(sources.clock_us) as data_at,
    coalesce(sum(files.events), 0)::bigint as events,
    coalesce(sum(files.rejected), 0)::bigint as rejected,
    coalesce(sum(coalesce(files.told, files.events)), 0)::bigint as told
from warehouse.sources as sources
left join warehouse.files as files on sources.source_no = files.source_no
group by sources.source, sources.format, sources.cluster, sources.clock_us
order by sources.source asc
