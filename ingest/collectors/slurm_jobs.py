"""Rows of a sacct table as the events of jobs: the rows of steps only tell that a job ran out of
memory.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.collectors.base import Reading
from ingest.collectors.slurm_events import events, told_by
from ingest.collectors.slurm_rows import Row
from ingest.collectors.slurm_states import OUT_OF_MEMORY, known_state
from ingest.events import Event, Rejected

_LOG = logging.getLogger("ingest")


@dataclass(slots=True)
class Jobs:
    """A row waits for the steps that follow it: a job that Slurm calls FAILED is out of memory if
    one of its steps is.
    """

    reading: Reading
    _waiting: Row | None = None
    _oom_step: str | None = None
    _undecided: int = 0
    _cut_teams: int = 0

    def take(self, row: Row | Rejected) -> Iterator[Event | Rejected]:
        """What is certain with this row."""
        if isinstance(row, Rejected):
            yield row
        elif _is_step(row):
            if self._waiting is not None and _is_oom(row) and _belongs(row, self._waiting):
                self._oom_step = self._oom_step or _identity(row)
        else:
            yield from self.end()
            self._waiting = row

    def end(self) -> Iterator[Event | Rejected]:
        """The events of the row that waits: no step of it comes any more."""
        row, oom_step = self._waiting, self._oom_step
        self._waiting = self._oom_step = None
        if row is None:
            return
        told = told_by(row, self.reading, oom_step)
        if isinstance(told, Rejected):
            yield told
            return
        self._undecided += told.times.is_undecided
        self._cut_teams += "Account" in row.cut
        happened = events(told, self.reading)
        yield from [happened] if isinstance(happened, Rejected) else happened

    def warn(self, dump_name: str) -> None:
        """Say of a whole table where its local times do not tell which of two hours they mean, and
        where its teams are cut off.
        """
        if self._cut_teams:
            _LOG.warning(
                "%s: the account of %s of its rows is cut off, and teams whose names begin alike "
                "count as one. Dump again with -P, or with Account%%50",
                dump_name,
                f"{self._cut_teams:,}",
            )
        if self._undecided:
            _LOG.warning(
                "%s: %s of its rows tell times in an hour that clocks in %s go through twice, and "
                "nothing tells which one they mean; one was taken. Let sacct print all times "
                "as Unix seconds (SLURM_TIME_FORMAT=%%s), and ingest that into a new warehouse "
                "(--warehouse)",
                dump_name,
                f"{self._undecided:,}",
                self.reading.timezone,
            )


def _identity(row: Row) -> str:
    return row.cells.get("JobID") or row.cells["JobIDRaw"]


def _is_step(row: Row) -> bool:
    return "." in row.cells.get("JobID", "") or "." in row.cells.get("JobIDRaw", "")


def _belongs(step: Row, row: Row) -> bool:
    return _identity(step).startswith(f"{_identity(row)}.")


def _is_oom(step: Row) -> bool:
    return known_state(step.cells["State"]) == OUT_OF_MEMORY
