"""A dump read line by line and many lines at once: both must tell the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from zoneinfo import ZoneInfo

import polars as pl

from ingest.collectors.base import Collector, Dump, Reading
from ingest.errors import UnreadableDump
from ingest.events import Item, Rejected, events_of


def told(
    collector: Collector, lines: Sequence[bytes], at_once: int | None, zone: str = "UTC"
) -> tuple[list[str], list[object]]:
    """Events as text, sorted; what is set aside, in file order. `at_once` None: line by line."""
    events: list[str] = []
    aside: list[object] = []
    try:
        for item in _items(collector, lines, at_once, zone):
            if isinstance(item, Rejected):
                aside.append(item)
            elif isinstance(item, pl.DataFrame):
                events += [_said(dict(event)) for event in events_of(item)]
            else:
                events.append(_said(dict(item)))
    except UnreadableDump as error:
        aside.append(str(error))
    return sorted(events), aside


def frames(collector: Collector, lines: Sequence[bytes]) -> int:
    """How many events come in frames."""
    items = _items(collector, lines, len(lines), "UTC")
    return sum(item.height for item in items if isinstance(item, pl.DataFrame))


def _items(
    collector: Collector, lines: Sequence[bytes], at_once: int | None, zone: str
) -> Iterator[Item]:
    reading = Reading(None, ZoneInfo(zone))
    blocks = [
        (at + 1, b"\n".join(lines[at : at + (at_once or 1)]))
        for at in range(0, len(lines), at_once or 1)
    ]
    dump = Dump("x", None, lambda: iter(enumerate(lines, 1)), lambda: iter(blocks))
    if at_once is None:
        return collector.read(dump, reading)
    assert collector.read_many is not None
    return collector.read_many(dump, reading)


def _said(event: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(event.items()))
