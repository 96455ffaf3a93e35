"""How far each cluster of a source has got, where the dumps of the source do not tell all of them.

Dumps of a scheduler that are given without --cluster are of one source, and one of them says
nothing of what runs on a cluster that it does not tell of. Each row of such a dump may name its
cluster; then clusters that no dump told together have a clock each (docs/adr/0019).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

import duckdb

from ingest import store

# A scheduler tells of a job in several events; where each job of a dump names its cluster in one,
# the dump tells of no other cluster.
_NOTE = """
update files
set clusters = told.clusters
from (
    select
        file_no,
        case
            when bool_and(are_rows and clusters is not null)
                then list_sort(list_distinct(flatten(list(clusters))))
        end as clusters
    from (
        select
            file_no,
            job_key,
            bool_and(row_key is not null) as are_rows,
            list(distinct cluster) filter (where cluster is not null) as clusters
        from batch
        where
            job_key is not null
            and file_no in (select file_no from batch where row_key is not null)
        group by file_no, job_key
    )
    group by file_no
) as told
where files.file_no = told.file_no and files.cluster is null
"""

# Of each source whose dumps name clusters: which were told together, and how far that reached. Of
# what tells of nothing it is not known on which.
_TOLD = """
select
    source_no,
    clusters,
    max(coalesce(reach_us, clock_us)) as reach_us
from files
where
    cluster is null
    and coalesce(told, events) > 0
    and source_no in (select source_no from files where clusters is not null)
group by source_no, clusters
"""

_LOG = logging.getLogger("ingest")


def note_clusters(connection: duckdb.DuckDBPyConnection) -> None:
    """Write into the ledger which clusters alone the dumps of the view `batch` tell of."""
    if {"row_key", "cluster"} <= store.columns_of(connection, "batch").keys():
        connection.execute(_NOTE)


def part(connection: duckdb.DuckDBPyConnection) -> bool:
    """Let `cluster_clocks` be what all dumps of the ledger tell: a row for each cluster of a source
    that has several clocks.

    Returns whether a clock may have gone back, so that what was lost by it may run: a dump that
    told two clusters together is gone, or a source has several for the first time.
    """
    told: dict[int, list[tuple[list[str] | None, int]]] = {}
    for source_no, clusters, reach_us in connection.execute(_TOLD).fetchall():
        told.setdefault(source_no, []).append((clusters, reach_us))
    rows = sorted(
        (source_no, cluster, "+".join(sorted(together)), reach_us)
        for source_no, parts in told.items()
        for together, reach_us in _parted(parts)
        for cluster in together
    )
    before = connection.execute("from cluster_clocks order by source_no, cluster").fetchall()
    if rows == before:
        return False
    connection.execute("delete from cluster_clocks")
    if rows:
        connection.executemany("insert into cluster_clocks values (?, ?, ?, ?)", rows)
    parted = {source_no for source_no, *_ in rows}
    _say_joined(connection, {source_no for source_no, *_ in before} - parted, told)
    known = {(source_no, cluster): clock_us for source_no, cluster, _, clock_us in before}
    return bool(parted - {source_no for source_no, *_ in before}) or any(
        clock_us < known.get((source_no, cluster), clock_us)
        for source_no, cluster, _, clock_us in rows
    )


def _say_joined(
    connection: duckdb.DuckDBPyConnection,
    joined: Collection[int],
    told: Mapping[int, Sequence[tuple[Sequence[str] | None, int]]],
) -> None:
    nameless = [no for no in joined if any(clusters is None for clusters, _ in told.get(no, ()))]
    for (source,) in connection.execute(
        "select source from sources where list_contains($1, source_no) order by source", [nameless]
    ).fetchall():
        _LOG.warning(
            "clusters of %s had clocks of their own, and share one from now on: a dump has rows "
            "that name no cluster, and may tell of any. What runs on a cluster that was dumped "
            "earlier may be lost by it. Give such dumps with --cluster, in a new folder.",
            source,
        )


def _parted(parts: Iterable[tuple[Sequence[str] | None, int]]) -> list[tuple[set[str], int]]:
    """Clusters that were told together, at once or one after the other, each with how far they got.

    None where all of them were: a dump that does not name its clusters tells of any.
    """
    groups: list[tuple[set[str], int]] = []
    for clusters, reach_us in parts:
        if clusters is None:
            return []
        mine, newest = set(clusters), reach_us
        apart = []
        for group in groups:
            if group[0] & mine:
                mine, newest = mine | group[0], max(newest, group[1])
            else:
                apart.append(group)
        groups = [*apart, (mine, newest)]
    return groups if len(groups) > 1 else []
