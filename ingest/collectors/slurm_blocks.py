"""A sacct table a block of lines at a time: runs of plain rows go to `slurm_frames` together, what
stands between them line by line to `slurm_rows`, which defines what a line means.

A job's row and those of its steps go one way. Lines whose steps may still follow wait for the next
block.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

from ingest.collectors.base import Dump, Reading
from ingest.collectors.slurm_columns import Columns
from ingest.collectors.slurm_frames import frames, plain_jobs
from ingest.collectors.slurm_jobs import Jobs
from ingest.collectors.slurm_rows import BOM, Table
from ingest.collectors.slurm_states import OUT_OF_MEMORY
from ingest.collectors.slurm_table import IS_STEP, LINE, STATE, can_split, whole_rows
from ingest.events import Event, Item, Rejected

Places = npt.NDArray[np.int64]


def read_many(dump: Dump, reading: Reading) -> Iterator[Item]:
    """As `slurm.read`; the events of plain rows come as frames, after the others of their block."""
    reader = _Reader(reading, Table(dump.name), Jobs(reading))
    for number, block in dump.blocks():
        yield from reader.take((block.removeprefix(BOM) if number == 1 else block).split(b"\n"))
    yield from reader.end()
    reader.jobs.warn(dump.name)


@dataclass(frozen=True, slots=True)
class _Sorted:
    """Lines of a table: `jobs` are its plain rows, `begins` their places; `odd` those of lines that
    are plain rows neither of jobs nor of steps, and of the end. Places ascend.
    """

    jobs: pl.DataFrame
    begins: Places
    odd: Places

    def run(self, at: int) -> int:
        """Where the plain lines end that begin here with a job; here, if none does."""
        place = int(np.searchsorted(self.begins, at))
        if place == len(self.begins) or self.begins[place] != at:
            return at
        return int(self.odd[np.searchsorted(self.odd, at)])

    def last_job(self, end: int) -> int:
        """Where the last job begins before a place that has one before it."""
        return int(self.begins[np.searchsorted(self.begins, end) - 1])


@dataclass(slots=True)
class _Reader:
    """`lines` are those that wait; the first of them is line `number` of the dump."""

    reading: Reading
    table: Table
    jobs: Jobs
    number: int = 1
    lines: list[bytes] = field(default_factory=list)

    def take(self, lines: list[bytes], is_last: bool = False) -> Iterator[Item]:
        """What is certain with these lines. Those behind a header are sorted by its columns."""
        self.lines += lines
        columns = None
        while columns is not self.table.columns:
            columns = self.table.columns
            done = yield from self._read(columns, is_last)
            self.number += done
            del self.lines[:done]

    def end(self) -> Iterator[Item]:
        """What no line can go on any more. Raises UnreadableDump where there was no header."""
        yield from self.take([], is_last=True)
        for row in self.table.end():
            yield from self.jobs.take(row)
        yield from self.jobs.end()

    def _read(self, columns: Columns, is_last: bool) -> Generator[Item, None, int]:
        """Reads up to the next header, or to the lines that wait; returns how many that were."""
        told = _sorted(columns, self.lines, self.reading)
        count = len(self.lines)
        is_together = np.zeros(count, dtype=bool)
        at = 0
        while at < count and columns is self.table.columns:
            end = run = at if self.table.broken else told.run(at)
            if end > at and not (is_last and end == count):
                end = told.last_job(run)
            if end > at:
                yield from self.jobs.end()
                is_together[at:end] = True
                at = end
                continue
            if not is_last and (at == count - 1 or (at > 0 and run == count)):
                break
            yield from self._alone(at)
            at += 1
        if is_together.any():
            yield from frames(told.jobs.filter(is_together[told.begins]), self.reading)
        return at

    def _alone(self, at: int) -> Iterator[Event | Rejected]:
        following = self.lines[at + 1] if at + 1 < len(self.lines) else b""
        for row in self.table.take(self.number + at, self.lines[at], following):
            yield from self.jobs.take(row)


def _sorted(columns: Columns, lines: Sequence[bytes], reading: Reading) -> _Sorted:
    if not can_split(columns) or not lines:
        return _Sorted(pl.DataFrame(), np.zeros(0, dtype=np.int64), np.array([len(lines)]))
    rows = whole_rows(columns, lines)
    steps = rows.filter(IS_STEP, pl.col(STATE) != OUT_OF_MEMORY)[LINE]
    jobs = plain_jobs(rows.filter(~pl.col(IS_STEP)), reading)
    is_odd = np.ones(len(lines) + 1, dtype=bool)
    # as wide as the places that are looked for: numpy would copy it anew for each of them
    begins = jobs[LINE].cast(pl.Int64).to_numpy()
    is_odd[steps.to_numpy()] = False
    is_odd[begins] = False
    return _Sorted(jobs, begins, np.flatnonzero(is_odd))
