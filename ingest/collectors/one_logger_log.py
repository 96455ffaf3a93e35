"""A log of one-logger line by line: its records, each given to the process that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.collectors.one_logger_events import events
from ingest.collectors.one_logger_processes import Processes
from ingest.collectors.one_logger_records import FINE_SPANS, records_in
from ingest.collectors.one_logger_usual import Usual, Word, usual_record
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected


@dataclass(slots=True)
class Log:
    """What is known of the processes so far; `is_one`: some line was a record."""

    name: str
    processes: Processes = field(default_factory=Processes)
    is_one: bool = False

    def take(self, number: int, line: bytes, told: Usual | None) -> Iterator[Event | Rejected]:
        """What a line tells; `told` is what is on it if it looks as usual."""
        if told is not None:
            if not isinstance(told, Word) and told.name in FINE_SPANS:
                return
            record = usual_record(number, line, told)
            if record is not None:
                self.is_one = True
                yield from events(record, self.processes)
                return
        for one in records_in(number, line):
            if isinstance(one, Rejected):
                yield one
            else:
                self.is_one = True
                yield from events(one, self.processes)

    def finish(self) -> None:
        """Raises UnreadableDump if no line was a record."""
        if not self.is_one:
            raise UnreadableDump(
                f"{self.name} holds no record of nv-one-logger. Is it what its FileExporter wrote?"
            )
