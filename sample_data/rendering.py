"""A day of a fleet as text: which lines fall into it, over all copies, and how times are written.

It opens no file and spoils nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sample_data.lines import MARK, NO_JOB, Lines
from sample_data.teams import Clock
from sample_data.times import DAY, HOUR

Integers = npt.NDArray[np.int64]

# A zone that does not change with the season, for the teams that write local time.
_OFFSET_US = -8 * HOUR
_ZONES = {Clock.ZULU: "Z", Clock.OFFSET: "-08:00"}


@dataclass(frozen=True, slots=True)
class Cloning:
    """How often the fleet is written: clone k has other ids and happens `k * shift_us` earlier."""

    copies: int = 1
    shift_us: int = 0

    def suffixes(self) -> list[str]:
        return ["", *(f"-c{number:04d}" for number in range(1, self.copies))]


@dataclass(frozen=True, slots=True)
class Columns:
    """The lines of one copy in time order. `clock` is the place of the owner's clock in `Clock`."""

    at_us: Integers
    until_us: Integers
    clock: Integers
    is_job: npt.NDArray[np.bool_]
    tails: list[str]


@dataclass(frozen=True, slots=True)
class DayLines:
    """The lines of one day in time order: places in the columns, copies, times."""

    place: Integers
    copy: Integers
    at_us: Integers
    until_us: Integers


_CLOCKS = tuple(Clock)


def columns_of(lines: Lines, clocks: Sequence[Clock]) -> Columns:
    """The lines sorted by time; `clocks` are the owners' ways to write it."""
    at = np.array(lines.at_us, dtype=np.int64)
    order = np.argsort(at, kind="stable")
    owner = np.array(lines.owner, dtype=np.int64)[order]
    clock_of = np.array([_CLOCKS.index(each) for each in clocks] + [0], dtype=np.int64)
    return Columns(
        at[order],
        np.array(lines.until_us, dtype=np.int64)[order],
        clock_of[owner],  # a change has owner -1: the last entry
        owner != NO_JOB,
        [lines.tails[place] for place in order.tolist()],
    )


def lines_of_day(columns: Columns, begins_us: int, cloning: Cloning) -> DayLines:
    """The lines of the day that begins at `begins_us`, over all copies."""
    places, copies = [], []
    for copy in range(cloning.copies):
        since = begins_us + copy * cloning.shift_us
        first, last = np.searchsorted(columns.at_us, [since, since + DAY])
        of_copy = np.arange(first, last, dtype=np.int64)
        if copy:
            of_copy = of_copy[columns.is_job[of_copy]]  # a change is told once
        places.append(of_copy)
        copies.append(np.full(len(of_copy), copy, dtype=np.int64))
    place, copy_of = np.concatenate(places), np.concatenate(copies)
    shift = copy_of * cloning.shift_us
    at, until = columns.at_us[place] - shift, columns.until_us[place] - shift
    until[columns.until_us[place] == 0] = 0
    order = np.argsort(at, kind="stable")
    return DayLines(place[order], copy_of[order], at[order], until[order])


def rendered(columns: Columns, day: DayLines, part: slice, suffixes: list[str]) -> list[str]:
    """A part of a day's lines as text, each with its line end."""
    places, copies = day.place[part], day.copy[part]
    clocks, until = columns.clock[places], day.until_us[part]
    untils = [""] * len(places)
    spans = np.flatnonzero(until)
    for spot, end in zip(spans.tolist(), _times(until[spans], clocks[spans]), strict=True):
        untils[spot] = f',"end_ts":{end}'
    tails = columns.tails
    return [
        f'{{"ts":{time}{end}{tails[place].replace(MARK, suffixes[copy])}\n'
        for time, end, place, copy in zip(
            _times(day.at_us[part], clocks), untils, places.tolist(), copies.tolist(), strict=True
        )
    ]


def _times(at_us: Integers, clocks: Integers) -> list[str]:
    """Each time as its owner writes it."""
    told = np.empty(len(at_us), dtype=object)
    for number, clock in enumerate(_CLOCKS):
        chosen = np.flatnonzero(clocks == number)
        told[chosen] = _unix(at_us[chosen]) if clock is Clock.UNIX else _iso(at_us[chosen], clock)
    return list(told)


def _iso(at_us: Integers, clock: Clock) -> list[str]:
    local = at_us + _OFFSET_US if clock is Clock.OFFSET else at_us
    zone = _ZONES[clock]
    texts: list[str] = np.datetime_as_string(local.view("datetime64[us]"), unit="us").tolist()
    return [f'"{text}{zone}"' for text in texts]


def _unix(at_us: Integers) -> list[str]:
    return [f"{ms // 1000}.{ms % 1000:03d}" for ms in (at_us // 1000).tolist()]
