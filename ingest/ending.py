"""Told to end by a signal, which may come at any moment."""

from __future__ import annotations

import time

_STEP_SECONDS = 0.2


class Ending:
    """Whether this process was told to end.

    `set` is for a signal's handler. That runs in the main thread between any two of its steps, and
    so in the middle of `wait`: it must take no lock. `threading.Event` takes one that its own wait
    holds for moments, and the process then never ends.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """End whatever waits, now and later."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether it was told to."""
        return self._is_set

    def wait(self, seconds: float) -> None:
        """Return after this time, or a step after it is told to end: sleep is woken by no flag."""
        until = time.monotonic() + seconds
        while not self._is_set and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _STEP_SECONDS))
