"""Google's ml-goodput-measurement: when each launch of a job started and ended, prepared, stepped,
evaluated, saved and restored, told by log entries as JSON lines.

It knows when steps start and not when they end; why a launch broke off it cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.goodput_blocks import read_many
from ingest.collectors.goodput_entries import entries_in
from ingest.collectors.goodput_log import Log
from ingest.events import Event, Rejected, Says


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line holds an entry."""
    entries = (entry for line in head.split(b"\n") for entry in entries_in(0, line))
    return any(not isinstance(entry, Rejected) for entry in entries)


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events in file order. Raises UnreadableDump if no line is an entry, or if the newest come
    first, as Cloud Logging gives them unless it is asked otherwise.
    """
    log = Log(dump.name)
    for number, line in dump.lines():
        yield from log.take(number, line)
    yield from log.finish()


GOODPUT = Collector(
    name="goodput",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
    read_many=read_many,
)
