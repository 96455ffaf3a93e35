-- Every dump format on every cluster that spoke, and how far it got. Where clusters of a source
-- have clocks of their own it is as far as the slowest of those that spoke in the last seven days,
-- and `cluster` is that one.
-- grain: one row per source
with

parted as (

    select
        source_no,
        min(clock_us) as clock_us,
        arg_min(cluster, (clock_us, cluster)) as cluster
    from warehouse.cluster_clocks
    where clock_us >= (select max(newest.clock_us) - 604800000000 from warehouse.sources as newest)
    group by source_no

)

select
    sources.source,
    sources.format,
    coalesce(parted.cluster, sources.cluster) as cluster,
    make_timestamp(coalesce(parted.clock_us, sources.clock_us)) as data_at,
    coalesce(sum(files.events), 0)::bigint as events,
    coalesce(sum(files.rejected), 0)::bigint as rejected,
    coalesce(sum(coalesce(files.told, files.events)), 0)::bigint as told
from warehouse.sources as sources
left join parted on sources.source_no = parted.source_no
left join warehouse.files as files on sources.source_no = files.source_no
group by
    sources.source, sources.format, sources.cluster, sources.clock_us,
    parted.cluster, parted.clock_us
order by sources.source asc
