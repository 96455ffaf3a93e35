"""How far each cluster of a source has got, where the dumps of the source do not tell all of them.

Dumps of a scheduler that are given without --cluster are of one source, and one of them says
nothing of what runs on a cluster that it does not tell of. Each row of such a dump may name its
cluster; then clusters that no dump told together have a clock each (docs/adr/0019).
"""

from __future__ import annotations

from collections.abc import Sequence

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

# Of each source whose dumps name clusters: which were told together, and how far that reached. A
# dump that tells of nothing names none.
_TOLD = """
select
    source_no,
    case when coalesce(told, events) = 0 then [] else clusters end as named,
    max(coalesce(reach_us, clock_us)) as reach_us
from files
where
    cluster is null
    and coalesce(reach_us, clock_us) is not null
    and source_no in (select source_no from files where clusters is not null)
group by source_no, named
"""


def note_clusters(connection: duckdb.DuckDBPyConnection) -> None:
    """Write into the ledger which clusters alone the dumps of the view `batch` tell of."""
    if {"row_key", "cluster"} <= store.columns_of(connection, "batch").keys():
        connection.execute(_NOTE)


def part(connection: duckdb.DuckDBPyConnection) -> None:
    """Let `cluster_clocks` be what all dumps of the ledger tell: a row for each cluster of a source
    that has several clocks.

    A host whose clock is ahead reaches no further than it does in the clock of its source.
    """
    told: dict[int, list[tuple[list[str] | None, int]]] = {}
    for source_no, clusters, reach_us in connection.execute(_TOLD).fetchall():
        told.setdefault(source_no, []).append((clusters, reach_us))
    rows = [
        (cluster, "+".join(sorted(together)), reach_us, source_no)
        for source_no, parts in told.items()
        for together, reach_us in _parted(parts)
        for cluster in sorted(together)
    ]
    if not rows and connection.execute("select 1 from cluster_clocks limit 1").fetchone() is None:
        return
    connection.execute("delete from cluster_clocks")
    if rows:
        connection.executemany(
            "insert into cluster_clocks select source_no, ?, ?, least(clock_us, ?) "
            "from sources where source_no = ?",
            rows,
        )


def _parted(parts: Sequence[tuple[Sequence[str] | None, int]]) -> list[tuple[set[str], int]]:
    """Clusters that were told together, at once or one after the other, each with how far they got.

    None where all of them were: a dump that does not name its clusters tells of any. One that is
    empty says up to its moment that nothing happened on any.
    """
    if any(clusters is None for clusters, _ in parts):
        return []
    quiet = [reach_us for clusters, reach_us in parts if not clusters]
    groups: list[tuple[set[str], int]] = []
    for clusters, reach_us in parts:
        mine, newest = set(clusters or ()), max([reach_us, *quiet])
        apart = []
        for group in groups:
            if group[0] & mine:
                mine, newest = mine | group[0], max(newest, group[1])
            else:
                apart.append(group)
        groups = [*apart, (mine, newest)] if mine else groups
    return groups if len(groups) > 1 else []
