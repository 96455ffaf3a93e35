"""What one publish shows to Prometheus: the families, and their bytes, made once and kept.

Reads nothing and never changes: a scrape is served from it whole, whatever is published meanwhile.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from app.monitoring.families import described, gauges
from app.monitoring.reading import Answer, tables
from queries.watching import Watching


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The state of one publish, or of none: then `problem` says why; else it is empty."""

    answered: tuple[Answer, ...]
    gauges: tuple[GaugeMetricFamily, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Exposition:
    """One format of a snapshot, plain and compressed."""

    content_type: str
    body: bytes
    gzipped: bytes


def snapshot_of(
    answered: Sequence[Answer], version: str, problem: str = "", *, is_current: bool = True
) -> Snapshot:
    """A snapshot of these answers. `is_current` is false where the newest cannot be opened."""
    return Snapshot(tuple(answered), gauges(tables(answered, version, is_current)), problem)


def with_watcher(snapshot: Snapshot, watching: Watching) -> Snapshot:
    """The same publish, and how the watcher is that makes the next."""
    told = gauges({"watching": [asdict(watching)]})
    return replace(snapshot, gauges=(*snapshot.gauges, *told))


@lru_cache(maxsize=8)  # an Accept header is the client's to choose
def exposition(snapshot: Snapshot, accept: str) -> Exposition:
    """The snapshot as an Accept header asks for it: OpenMetrics, or Prometheus text."""
    registry = CollectorRegistry()
    registry.register(_Gauges(snapshot.gauges))
    encode, content_type = _encoder(accept)
    body = encode(registry)
    return Exposition(content_type, body, gzip.compress(body, mtime=0))


class _Gauges(Collector):
    """`describe` is what keeps `register` from collecting."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return described()


def _encoder(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    try:
        return choose_encoder(accept)
    except TypeError:  # a version that is not made of numbers
        return choose_encoder("")
