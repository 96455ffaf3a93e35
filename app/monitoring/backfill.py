"""The past as OpenMetrics, a sample a day: Grafana's trends need not begin with the first scrape.

Reads one publish and writes one file. Never serves anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO
from zoneinfo import ZoneInfo

import duckdb
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from app.monitoring.families import FAMILIES, gauges
from app.monitoring.reading import answers_as_of

_DAYS = """
    select
        publication.time_zone,
        days.day
    from publication
    cross join days
    where days.is_complete
    order by days.day
"""


def write(
    connection: duckdb.DuckDBPyConnection, target: Path, advance: Callable[[int, int], None]
) -> int:
    """Write every family that has windows for every complete day; returns the number of samples.

    The sample of a day has the time of the midnight after it, in the warehouse's zone. `advance`
    is told days done and days in all. A device or a pipe is written to as it is; a file has its
    name once it is whole. Raises OSError where it cannot be written.
    """
    found = connection.execute(_DAYS).fetchall()
    samples = 0
    # all samples of a family must stand together, so each is collected in a file of its own
    with TemporaryDirectory(prefix="ett-backfill-") as folder, ExitStack() as stack:
        spools = {
            # a name may hold what breaks a line elsewhere: only \n does here
            family.name: stack.enter_context(
                Path(folder, family.name).open("w+", encoding="utf-8", newline="\n")
            )
            for family in FAMILIES
        }
        for done, (zone, day) in enumerate(found, start=1):
            for gauge in _of_day(connection, day, ZoneInfo(zone)):
                samples += len(gauge.samples)
                _spool(gauge, spools[gauge.name])
            advance(done, len(found))
        with _written(target) as whole:
            for spool in spools.values():
                spool.seek(0)
                # one family at a time in memory; the days of a series stay in order
                whole.writelines(sorted(spool, key=_series))
            whole.write("# EOF\n")
    return samples


@contextmanager
def _written(target: Path) -> Iterator[TextIO]:
    target = target.resolve()  # a link stays one, and what it leads to is written
    if target.exists() and not target.is_file():
        with target.open("w", encoding="utf-8") as whole:
            yield whole
        return
    building = target.with_name(f"{target.name}.part")
    try:
        with building.open("w", encoding="utf-8") as whole:
            yield whole
    except BaseException:
        building.unlink(missing_ok=True)
        raise
    building.replace(target)


def _of_day(
    connection: duckdb.DuckDBPyConnection, day: date, zone: ZoneInfo
) -> Iterator[GaugeMetricFamily]:
    known_at = datetime.combine(day + timedelta(days=1), datetime.min.time(), zone).timestamp()
    answered = list(answers_as_of(connection, day))
    for gauge in gauges({one.question.table: one.rows or [] for one in answered}):
        gauge.samples = [sample._replace(timestamp=known_at) for sample in gauge.samples]
        yield gauge


def _spool(gauge: GaugeMetricFamily, spool: TextIO) -> None:
    registry = CollectorRegistry()
    registry.register(_One(gauge))
    told: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    is_first = spool.tell() == 0
    spool.writelines(
        f"{line}\n"
        for line in told.decode().removesuffix("\n").split("\n")
        if not line.startswith("#") or (is_first and line != "# EOF")
    )


def _series(line: str) -> str:
    """What must stand together: the comments first, then the samples of each series."""
    return "" if line.startswith("#") else line.rsplit(" ", 2)[0]


class _One(Collector):
    """`describe` is what keeps `register` from collecting."""

    def __init__(self, gauge: GaugeMetricFamily) -> None:
        self._gauge = gauge

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._gauge

    def describe(self) -> list[GaugeMetricFamily]:
        return []
