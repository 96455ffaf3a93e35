"""How far an ingest is: a bar with rate and time left on a terminal, elsewhere a line at times."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.bar import Bar

_LOG = logging.getLogger("ingest")
_QUIET_SECONDS = 10.0
# Parts of the time that a dump takes: reading it for its content's identity, parsing it, and
# computing what it tells. The rest is the publication.
_READ_SHARE, _PARSED_SHARE, _COMPUTED_SHARE = 0.05, 0.25, 0.5


class Progress:
    """Bytes done of all bytes; each counts in part when read, parsed, computed and published."""

    def __init__(self, total: int) -> None:
        self._total = max(total, 1)  # empty files alone are no bytes
        self._done = 0.0
        self._began = self._said = self._advanced = time.monotonic()
        self._bar = _bar(total, self.pace) if sys.stderr.isatty() else None

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def more(self, size: int) -> None:
        """There is more to do than was given: so many bytes."""
        self._total += size
        if self._bar is not None:
            self._bar.tell(total=self._total)

    def read(self, size: int) -> None:
        """Bytes were read once."""
        self._advance(size * _READ_SHARE)

    def parsed(self, size: int) -> None:
        """Bytes were parsed."""
        self._advance(size * _PARSED_SHARE)

    def computed(self, size: int) -> None:
        """What bytes tell is computed and committed."""
        self._advance(size * _COMPUTED_SHARE)

    def skipped(self, size: int) -> None:
        """A file was left aside after it was read."""
        self._advance(size * (_PARSED_SHARE + _COMPUTED_SHARE))

    def published(self) -> None:
        """Everything is published."""
        self._advance(self._total - self._done)

    def events(self, count: int) -> None:
        """So many events are committed."""
        if self._bar is not None:
            self._bar.tell(events=f"{count:,} events")

    def pace(self) -> str:
        """The rate so far, and the time left at it."""
        now = time.monotonic()
        rate = self._done / 1e6 / max(now - self._began, 0.001)
        left = self._left(now)
        told = "" if left is None else f" {timedelta(seconds=round(left))}"
        return f"{rate:.1f} MB/s{told}"

    def _advance(self, size: float) -> None:
        self._done += size
        self._advanced = now = time.monotonic()
        if self._bar is not None:
            self._bar.tell(completed=self._done)
        elif now - self._said > _QUIET_SECONDS:
            self._said = now
            _LOG.info(
                "%d %% of %.1f MB%s",
                100 * self._done / self._total,
                self._total / 1e6,
                _in_words(self._left(now)),
            )

    def _left(self, now: float) -> float | None:
        """Seconds that are left if it goes on as up to its last advance; None where nothing is done
        yet, and where it takes longer than that.
        """
        if self._done <= 0:
            return None
        whole = (self._advanced - self._began) * self._total / self._done
        left = self._began + whole - now
        return left if left > 0 else None


def _bar(total: int, pace: Callable[[], str]) -> Bar:
    from ingest.bar import Bar  # with the library that draws it: most starts have no terminal

    return Bar(total, pace)


def _in_words(left: float | None) -> str:
    if left is None:
        return ""
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
