"""NVIDIA's nv-one-logger: what each launch of a training run did, told by spans in JSON lines.

It knows launches and not attempts, processes and not GPUs; who ended a run that was killed it
cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.one_logger_blocks import read_many
from ingest.collectors.one_logger_log import Log
from ingest.collectors.one_logger_records import records_in
from ingest.collectors.one_logger_usual import usual
from ingest.events import Event, Rejected, Says


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line holds a record."""
    records = (record for line in head.split(b"\n") for record in records_in(0, line))
    return any(not isinstance(record, Rejected) for record in records)


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events in file order. Raises UnreadableDump if no line is a record."""
    log = Log(dump.name)
    for number, line in dump.lines():
        yield from log.take(number, line, usual(line))
    log.finish()


ONE_LOGGER = Collector(
    name="one-logger",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
    read_many=read_many,
)
