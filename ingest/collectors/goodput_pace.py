"""How long a step takes in one launch, and how much of a step that took longer was training.

The log says when steps start, never when they end: between two starts there may be a compilation, a
stall, an evaluation, hours of silence. A step is believed to last as long as the launch's steps
usually do; what goes far beyond is known to nobody. Makes no events.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl

_NEWEST = 101  # steps that say what is usual
TOO_LONG = 2.0  # of a usual step
MOST_MISSED = 4  # steps as one: if they took twice as long they would still be no hang
_TOO_LONG_AT_FIRST = 1.25  # the first step of a launch is where a program compiles


@dataclass(slots=True)
class Pace:
    """The lengths of the newest steps."""

    _in_order: deque[int] = field(default_factory=deque)
    _by_length: list[int] = field(default_factory=list)

    def add(self, length_us: int) -> None:
        self._in_order.append(length_us)
        insort(self._by_length, length_us)
        if len(self._in_order) > _NEWEST:
            oldest = self._in_order.popleft()
            del self._by_length[bisect_left(self._by_length, oldest)]

    def add_many(self, lengths_us: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Add steps that follow one another; gives what was usual before each of them. Needs one
        that was added before.
        """
        known = len(self._in_order)
        lengths = pl.Series([*self._in_order, *lengths_us.tolist()], dtype=pl.Int64)
        usual = lengths.rolling_quantile(
            0.5, interpolation="lower", window_size=_NEWEST, min_samples=1
        )
        self._in_order = deque(lengths.tail(_NEWEST).to_list())
        self._by_length = sorted(self._in_order)
        return usual.to_numpy()[known - 1 : -1].astype(np.int64)

    @property
    def usual_us(self) -> int | None:
        """The median step; None before there is one."""
        return self._by_length[(len(self._by_length) - 1) // 2] if self._by_length else None


@dataclass(frozen=True, slots=True)
class Stretch:
    """From the start of a step to the next thing that is known to come after it; `inside` are the
    spans within it in which the job said that it did something else, in order. It is worth several
    `steps` where the entries of a few between are not in the dump.
    """

    from_us: int
    until_us: int
    inside: tuple[tuple[int, int], ...] = ()
    steps: int = 1

    @property
    def own_us(self) -> int:
        """The length without what is inside."""
        own_us, at_us = 0, self.from_us
        for start_us, end_us in self.inside:
            own_us += max(0, start_us - at_us)
            at_us = max(at_us, end_us)
        return own_us + max(0, self.until_us - at_us)

    def after(self, own_us: int) -> int:
        """The instant at which so much of its own time has passed."""
        at_us = self.from_us
        for start_us, end_us in self.inside:
            if start_us - at_us >= own_us:
                break
            own_us -= max(0, start_us - at_us)
            at_us = max(at_us, end_us)
        return min(at_us + own_us, self.until_us)

    def is_too_long(self, usual_us: int, *, is_first: bool = False) -> bool:
        """Whether more than its step must have happened."""
        most = _TOO_LONG_AT_FIRST if is_first else TOO_LONG
        return self.own_us > usual_us * self.steps * most
