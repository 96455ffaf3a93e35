"""A log of one-logger a block of lines at a time: what a process says in each iteration, how far it
came and that it waited for data, becomes frames; all else goes line by line to `one_logger_log`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from ingest.collectors.base import Dump, Reading
from ingest.collectors.json_values import instant_us, whole
from ingest.collectors.one_logger_events import samples_of
from ingest.collectors.one_logger_log import Log
from ingest.collectors.one_logger_processes import Process, Processes
from ingest.collectors.one_logger_usual import Complete, Usual, Word, usual
from ingest.collectors.units import MILLISECOND_US
from ingest.collectors.whose import WHOSE, Whose
from ingest.events import EventKind, Item, Phase

_PROGRESS = {"at_us": pl.Int64, "step": pl.Int64, "samples": pl.Int64, WHOSE: pl.UInt32}
_WAITS = {"at_us": pl.Int64, "end_us": pl.Int64, WHOSE: pl.UInt32}


def read_many(dump: Dump, reading: Reading) -> Iterator[Item]:
    """As `one_logger.read`, with frames of what processes say in each iteration."""
    log = Log(dump.name)
    for first, block in dump.blocks():
        dense = _Dense()
        for number, line in enumerate(block.split(b"\n"), first):
            told = usual(line)
            if told is None or not dense.take(told, log.processes):
                yield from log.take(number, line, told)
        log.is_one |= dense.any
        yield from dense.frames()
    log.finish()


@dataclass(slots=True)
class _Dense:
    """The rows of a block, and whose they are."""

    progress: list[tuple[int, int, int | None, int]] = field(default_factory=list)
    waits: list[tuple[int, int, int]] = field(default_factory=list)
    whose: Whose = field(default_factory=Whose)

    @property
    def any(self) -> bool:
        """Whether there is a row."""
        return bool(self.progress or self.waits)

    def take(self, told: Usual, processes: Processes) -> bool:
        """Whether this is such a row; if not, nothing has changed."""
        if isinstance(told, Word):
            return told.event.name == "training_metrics_update" and self._step(told, processes)
        if not isinstance(told, Complete) or told.name != "data_loading":
            return False
        process = processes.only(told.id, told.pid)
        if process is None:
            return False
        at_us = told.start_event.attributes.timestamp_msec * MILLISECOND_US
        until_us = told.stop_event.attributes.timestamp_msec * MILLISECOND_US
        self.waits.append((at_us, until_us, self._place(process, told)))
        return True

    def _step(self, told: Word, processes: Processes) -> bool:
        said = told.event.attributes
        iteration = whole(said.get("current_iteration"))
        at_us = instant_us(said.get("timestamp_msec"), MILLISECOND_US)
        process = processes.only(told.span_id, told.pid)
        if iteration is None or at_us is None or process is None:
            return False
        place = self._place(process, told)
        self.progress.append((at_us, process.go_on(iteration), samples_of(said), place))
        return True

    def _place(self, process: Process, told: Usual) -> int:
        process.last_count = told.count
        return self.whose.place(process.of_run)

    def frames(self) -> Iterator[pl.DataFrame]:
        """The rows as events."""
        kind = pl.lit(str(EventKind.PROGRESS)).alias("event")
        if self.progress:
            rows = pl.DataFrame(self.progress, schema=_PROGRESS, orient="row")
            yield self.whose.told(rows.select("at_us", kind, "step", "samples", WHOSE))
        kind = pl.lit(str(EventKind.PHASE_START)).alias("event")
        phase = pl.lit(str(Phase.DATA_WAIT)).alias("phase")
        if self.waits:
            rows = pl.DataFrame(self.waits, schema=_WAITS, orient="row")
            yield self.whose.told(rows.select("at_us", kind, phase, "end_us", WHOSE))
