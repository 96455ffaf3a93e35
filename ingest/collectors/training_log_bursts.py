"""Whether the steps of a log were written many at a time: what a program prints into a pipe waits
in a buffer of some KiB, and a time that is put before each line then is that of the buffer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ingest.collectors.units import MILLISECOND_US, SECOND_US

_AT_ONCE_US = 10 * MILLISECOND_US  # between two steps of a burst
_EACH_US = MILLISECOND_US  # of a burst, on average: what is slower may be a loop of short steps
_FEWEST = 10  # steps of a burst
_PAUSE_US = 3 * SECOND_US  # before a burst; where times tell whole seconds fast steps share one
_MOST = 0.9  # of all steps


class Bursts:
    """Hears the steps of a log in the order of its lines; what a rank tells again is left out."""

    def __init__(self) -> None:
        self._highest = 0  # step of this launch
        self._last_us: int | None = None
        self._pause_us = 0  # before the burst that goes on
        self._since_us = 0  # its first step
        self._size = 0  # of it
        self._steps = 0
        self._late = 0  # steps

    @property
    def are_most(self) -> bool:
        """Whether nearly all steps came in bursts."""
        last_us = self._last_us or 0
        late = self._late + _late_of(self._size, self._pause_us, self._since_us, last_us)
        return late >= _FEWEST and late > _MOST * self._steps

    def begin(self) -> None:
        """Another launch begins, whose steps may be lower."""
        self._highest = 0

    def hear(self, step: int, at_us: int, first_us: int | None) -> None:
        """`first_us` is the first time that the log tells."""
        if step <= self._highest:
            return
        self._highest = step
        self._steps += 1
        before_us = self._before_us(at_us, first_us)
        if self._last_us is not None and 0 <= at_us - before_us <= _AT_ONCE_US:
            self._size += 1
        else:
            self._late += _late_of(self._size, self._pause_us, self._since_us, before_us)
            self._pause_us, self._since_us, self._size = at_us - before_us, at_us, 1
        self._last_us = at_us

    def hear_many(self, step: npt.NDArray[np.int64], at_us: npt.NDArray[np.int64]) -> None:
        """The same of steps that rise, as their times do, and are not the first."""
        assert self._last_us is not None
        self._highest = int(step[-1])
        self._steps += len(at_us)
        gaps = np.diff(at_us, prepend=self._last_us)
        places = np.flatnonzero((gaps > _AT_ONCE_US) | (gaps < 0))
        if not len(places):
            self._size += len(at_us)
        else:
            before_us = at_us[places - 1]
            before_us[0] = at_us[places[0] - 1] if places[0] else self._last_us
            sizes = np.append(self._size + places[0], np.diff(places))
            pauses = np.append(self._pause_us, gaps[places[:-1]])
            since_us = np.append(self._since_us, at_us[places[:-1]])
            for place in np.flatnonzero(sizes >= _FEWEST).tolist():
                self._late += _late_of(
                    int(sizes[place]),
                    int(pauses[place]),
                    int(since_us[place]),
                    int(before_us[place]),
                )
            self._pause_us, self._size = int(gaps[places[-1]]), len(at_us) - int(places[-1])
            self._since_us = int(at_us[places[-1]])
        self._last_us = int(at_us[-1])

    def _before_us(self, at_us: int, first_us: int | None) -> int:
        if self._last_us is not None:
            return self._last_us
        return at_us if first_us is None else first_us


def _late_of(size: int, pause_us: int, since_us: int, last_us: int) -> int:
    """How many steps came late of some that came at once."""
    is_at_once = size >= _FEWEST and last_us - since_us <= size * _EACH_US
    return size if is_at_once and (pause_us > _PAUSE_US or last_us % SECOND_US) else 0
