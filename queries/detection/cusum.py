"""One-sided cumulative sums over the trailing days, and since when, by likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from queries.detection import baseline, method
from queries.detection.baseline import Block
from queries.detection.mix import Floats, Ints
from queries.detection.series import Panel

BEFORE_DAYS = method.BASELINE_DAYS + method.LAG_DAYS
_AT_ONCE = 384  # what fits in a cache: twice as many take longer each


@dataclass(frozen=True, slots=True)
class Sums:
    """At each day, [series, day], nan where no baseline stands: how much speaks for a rise, slow
    and fast, and how much for a fall; and how many observations or events the baseline had a day.
    """

    slow: Floats
    fast: Floats
    fall: Floats
    volume: Floats


def sums(panel: Panel, since: Ints) -> Sums:
    """Judge each series by the baseline of every week, from that of its day in `since` on."""
    firsts = np.arange(0, panel.days, method.WEEK)
    rows, weeks = np.nonzero(firsts >= week_of(since)[:, None])
    told = judged(padded(panel, slice(None)), rows, firsts[weeks])

    def by_day(each: Floats) -> Floats:
        found = np.full((len(panel.keys), len(firsts), method.WEEK), np.nan)
        found[rows, weeks] = each
        return found.reshape(len(found), -1)[:, : panel.days]

    return Sums(*map(by_day, (told.slow, told.fast, told.fall, told.volume)))


def judged(block: Block, rows: Ints, firsts: Ints) -> Sums:
    """Judge series of a padded block, each in a week of its own: [place, day of the week], but for
    the volume, which is one of the week.
    """
    slow, fast, fall = (np.full((len(rows), method.WEEK), np.nan) for _ in range(3))
    found = Sums(slow, fast, fall, volume=np.full((len(rows), 1), np.nan))
    for begin in range(0, len(rows), _AT_ONCE):
        at_once = slice(begin, begin + _AT_ONCE)
        known = windows(block, rows[at_once], firsts[at_once], BEFORE_DAYS + method.WEEK)
        ready = np.flatnonzero(baseline.is_ready(piece(known, 0, method.BASELINE_DAYS)))
        if len(ready) > 0:
            _judge(piece(known, 0, BEFORE_DAYS + method.WEEK, ready), found, begin + ready)
    return found


@overload
def week_of(day: int) -> int: ...
@overload
def week_of(day: Ints) -> Ints: ...
def week_of(day: int | Ints) -> int | Ints:
    """The first day of the week that a day is judged in."""
    return day // method.WEEK * method.WEEK


def _judge(block: Block, found: Sums, places: Ints) -> None:
    """Fill in, at `places`, the last week of a block, by the baseline that it begins with."""
    learnt = baseline.fit(piece(block, 0, method.BASELINE_DAYS))
    judged = baseline.score(learnt, piece(block, method.BASELINE_DAYS, block.value.shape[1]))
    found.volume[places] = learnt.volume[:, None]
    z = judged.z[:, 1 - method.TRAIL_DAYS - method.WEEK :]
    for out, scores, k, cut in (
        (found.slow, z, method.SLOW_K, method.SLOW_CUT),
        (found.fast, z, method.FAST_K, method.FAST_CUT),
        (found.fall, -z, method.SLOW_K, method.SLOW_CUT),
    ):
        even = np.clip(scores, method.LOWER_CUT, cut) / learnt.stretch[:, None]
        out[places] = _summed(np.nan_to_num(even - k, nan=0.0))


def padded(panel: Panel, rows: slice | list[int]) -> Block:
    """The series of these rows with room before them for a baseline of their first day, and after
    them for the rest of a week.
    """
    ends = BEFORE_DAYS + panel.days

    def wide(values: Floats) -> Floats:
        chosen = values[rows]
        around = np.zeros((len(chosen), ends + -panel.days % method.WEEK))
        around[:, BEFORE_DAYS:ends] = chosen
        return around

    return Block(panel.is_rate, wide(panel.value), wide(panel.weight), wide(panel.squares))


def piece(block: Block, first: int, last: int, rows: Ints | slice = slice(None)) -> Block:
    """The days [first, last) of the series `rows` of a block."""
    arrays = (block.value, block.weight, block.squares)
    return Block(block.is_rate, *(each[rows, first:last] for each in arrays))


def windows(block: Block, rows: Ints, firsts: Ints, days: int) -> Block:
    """Of the series `rows` so many days, of each from a first one of its own on."""
    arrays = (block.value, block.weight, block.squares)
    seen = (sliding_window_view(each, days, axis=1)[rows, firsts] for each in arrays)
    return Block(block.is_rate, *seen)


def onset(z: Floats, precision: Floats) -> int:
    """Since which of these days, up to the last, the scores are most likely higher."""
    told = z[~np.isnan(z)]
    # one day out of place is cut; what the last days agree on is not
    cut = max(method.FAST_CUT, float(np.median(told[-3:])) if len(told) else 0.0)
    root = np.sqrt(precision)
    over = np.where(np.isnan(z), 0.0, np.clip(z, method.LOWER_CUT, cut)) * root
    gained = np.cumsum(over[::-1])[::-1]
    weighed = np.sqrt(np.cumsum(precision[::-1])[::-1])
    ratio = np.where((weighed > 0) & ~np.isnan(z), gained / np.maximum(weighed, 1e-12), -np.inf)
    return int(np.argmax(ratio))


def _summed(steps: Floats) -> Floats:
    """Sums over the TRAIL_DAYS steps up to each day of the last week, never below zero."""
    total = np.zeros((len(steps), method.WEEK))
    for step in range(method.TRAIL_DAYS):
        total = np.maximum(0.0, total + steps[:, step : step + method.WEEK])
    return total
