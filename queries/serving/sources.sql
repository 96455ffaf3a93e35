-- Every dump format on every cluster that spoke, and how far it got. A cluster that has a clock of
-- its own is a source as if its dumps had been given with its name.
-- grain: one row per source
with

clocked as (

    select
        source,
        format,
        cluster,
        clock_us
    from warehouse.sources
    where source_no not in (select source_no from warehouse.cluster_clocks)

    union all

    select
        concat_ws('@', sources.source, parted.together) as source,
        sources.format,
        parted.together as cluster,
        parted.clock_us
    from warehouse.cluster_clocks as parted
    inner join warehouse.sources as sources on parted.source_no = sources.source_no

    union all

    -- dumps of which every line was set aside, or that have none
    select
        source,
        format,
        cluster,
        cast(null as bigint) as clock_us
    from warehouse.sources
    where
        source_no in (select source_no from warehouse.cluster_clocks)
        and source in (select source from publishing_files)

),

reached as (

    select
        source,
        format,
        cluster,
        max(clock_us) as clock_us
    from clocked
    group by source, format, cluster

),

told as (

    select
        named.source,
        sum(files.events) as events,
        sum(files.rejected) as rejected,
        sum(coalesce(files.told, files.events)) as told
    from publishing_files as named
    inner join warehouse.files as files on named.file_no = files.file_no
    group by named.source

)

select
    reached.source,
    reached.format,
    reached.cluster,
    make_timestamp(reached.clock_us) as data_at,
    cast(coalesce(told.events, 0) as bigint) as events,
    cast(coalesce(told.rejected, 0) as bigint) as rejected,
    cast(coalesce(told.told, 0) as bigint) as told
from reached
left join told on reached.source = told.source
order by reached.source asc
