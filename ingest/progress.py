"""How far an ingest is: a bar with rate and time left on a terminal, elsewhere a line at times."""

from __future__ import annotations

import logging
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar

_LOG = logging.getLogger("ingest")
_QUIET_SECONDS = 10.0
# Reading a dump for its content's identity is a small part of the work, parsing it the rest.
_READ_SHARE = 0.1


class Progress:
    """Bytes done of all bytes; each counts a tenth when read and the rest when loaded."""

    def __init__(self, total: int) -> None:
        console = Console(stderr=True)
        self._total = max(total, 1)  # empty files alone are no bytes
        self._done = 0.0
        self._began = self._said = time.monotonic()
        self._is_terminal = console.is_terminal
        self._bar = Bar(
            TextColumn("ingesting"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[events]}"),
            console=console,
            disable=not self._is_terminal,
        )
        self._task = self._bar.add_task("ingest", total=total, events="")

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def more(self, size: int) -> None:
        """There is more to do than was given: so many bytes."""
        self._total += size
        self._bar.update(self._task, total=self._total)

    def read(self, size: int) -> None:
        """Bytes were read once."""
        self._advance(size * _READ_SHARE)

    def parsed(self, size: int) -> None:
        """Bytes were loaded."""
        self._advance(size * (1 - _READ_SHARE))

    def skipped(self, size: int) -> None:
        """A file was left aside after it was read."""
        self._advance(size * (1 - _READ_SHARE))

    def events(self, count: int) -> None:
        """So many events are committed."""
        self._bar.update(self._task, events=f"{count:,} events")

    def _advance(self, size: float) -> None:
        self._done += size
        self._bar.update(self._task, completed=self._done)
        now = time.monotonic()
        if not self._is_terminal and now - self._said > _QUIET_SECONDS:
            self._said = now
            _LOG.info(
                "%d %% of %.1f MB%s",
                100 * self._done / self._total,
                self._total / 1e6,
                self._time_left(now - self._began),
            )

    def _time_left(self, seconds: float) -> str:
        """What is left if it goes on as it did; nothing before anything is done."""
        if self._done <= 0:
            return ""
        left = max(0.0, seconds * (self._total / self._done - 1))
        return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
