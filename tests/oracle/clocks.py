"""How far those who speak of a job have got: ADR 19 told again, for whole dumps.

Shares no code with the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Dumped(Protocol):
    """What is asked of a dump: who tells it, and what it says."""

    @property
    def source(self) -> str: ...

    @property
    def events(self) -> Sequence[Mapping[str, Any]]: ...


@dataclass(frozen=True, slots=True)
class Clocks:
    """Newest times by source, and by source and cluster where clusters have clocks of their own."""

    of_sources: Mapping[str, int]
    of_clusters: Mapping[tuple[str, str], int]

    def of(self, source: str, cluster: str | None) -> int:
        own = None if cluster is None else self.of_clusters.get((source, cluster))
        return self.of_sources[source] if own is None else own


def clocks_of(dumps: Sequence[Dumped]) -> Clocks:
    of_sources: dict[str, int] = {}
    of_clusters: dict[tuple[str, str], int] = {}
    for source in {dump.source for dump in dumps}:
        mine = [dump for dump in dumps if dump.source == source]
        of_sources[source] = max(map(newest_time, mine))
        named = [clusters_alone(dump) for dump in mine]
        known = [clusters for clusters in named if clusters is not None]
        if len(known) < len(named):
            continue
        everywhere = set[str]().union(*known)
        for cluster in everywhere:
            together = hanging_together(cluster, known)
            if together != everywhere:
                of_clusters[source, cluster] = max(
                    newest_time(dump)
                    for dump, clusters in zip(mine, known, strict=True)
                    if clusters & together
                )
    return Clocks(of_sources, of_clusters)


def hanging_together(cluster: str, told: Sequence[set[str]]) -> set[str]:
    together = {cluster}
    while True:
        grown = together.union(*(clusters for clusters in told if clusters & together))
        if grown == together:
            return together
        together = grown


def clusters_alone(dump: Dumped) -> set[str] | None:
    """The clusters that a dump of nothing but a scheduler's rows names, where each job does."""
    jobs: dict[str, set[str]] = {}
    for fields in dump.events:
        if "row_key" not in fields:
            return None
        jobs.setdefault(fields["job_id"], set()).update(
            [fields["cluster"]] if "cluster" in fields else []
        )
    return set[str]().union(*jobs.values()) if all(jobs.values()) else None


def newest_time(dump: Dumped) -> int:
    return max(max(fields["at_us"], fields.get("end_us", 0)) for fields in dump.events)
