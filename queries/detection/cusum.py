"""One-sided cumulative sums over the trailing days, and since when, by likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from queries.detection import baseline, method
from queries.detection.baseline import Block
from queries.detection.mix import Floats, Ints
from queries.detection.series import Panel

BEFORE_DAYS = method.BASELINE_DAYS + method.LAG_DAYS
_AT_ONCE = 768


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
    found = Sums(*(np.full(panel.value.shape, np.nan) for _ in range(4)))
    for begin in range(0, len(panel.keys), _AT_ONCE):
        asked = since[begin : begin + _AT_ONCE]
        block = padded(panel, slice(begin, begin + _AT_ONCE))
        for first in range(week_of(int(asked.min())), panel.days, method.WEEK):
            last = min(first + method.WEEK, panel.days)
            is_ready = baseline.is_ready(piece(block, first, first + method.BASELINE_DAYS))
            rows = np.flatnonzero(is_ready & (asked < last))
            if len(rows) > 0:
                known = piece(block, first, BEFORE_DAYS + last, rows)
                _judge(known, last - first, found, np.ix_(begin + rows, np.arange(first, last)))
    return found


def week_of(day: int) -> int:
    """The first day of the week that a day is judged in."""
    return day // method.WEEK * method.WEEK


def _judge(block: Block, days: int, found: Sums, place: tuple[Ints, ...]) -> None:
    """Fill in, at `place`, the last `days` of a block, by the baseline that it begins with."""
    learnt = baseline.fit(piece(block, 0, method.BASELINE_DAYS))
    judged = baseline.score(learnt, piece(block, method.BASELINE_DAYS, block.value.shape[1]))
    found.volume[place] = learnt.volume[:, None]
    z = judged.z[:, -(method.TRAIL_DAYS - 1 + days) :]
    for out, scores, k, cut in (
        (found.slow, z, method.SLOW_K, method.SLOW_CUT),
        (found.fast, z, method.FAST_K, method.FAST_CUT),
        (found.fall, -z, method.SLOW_K, method.SLOW_CUT),
    ):
        even = np.clip(scores, method.LOWER_CUT, cut) / learnt.stretch[:, None]
        out[place] = _summed(np.nan_to_num(even - k, nan=0.0), days)


def padded(panel: Panel, rows: slice | list[int]) -> Block:
    """The series of these rows with room before them for a baseline of their first day."""

    def wide(values: Floats) -> Floats:
        chosen = values[rows]
        return np.concatenate([np.zeros((len(chosen), BEFORE_DAYS)), chosen], axis=1)

    return Block(panel.is_rate, wide(panel.value), wide(panel.weight), wide(panel.squares))


def piece(block: Block, first: int, last: int, rows: Ints | slice = slice(None)) -> Block:
    """The days [first, last) of the series `rows` of a block."""
    arrays = (block.value, block.weight, block.squares)
    return Block(block.is_rate, *(each[rows, first:last] for each in arrays))


def windows(block: Block, firsts: Ints, days: int) -> Block:
    """Of each series so many days, from its own first one on."""
    rows = np.arange(len(firsts))
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


def _summed(steps: Floats, days: int) -> Floats:
    """Sums over the TRAIL_DAYS steps up to each of the last `days`, never below zero."""
    total = np.zeros((len(steps), days))
    for step in range(method.TRAIL_DAYS):
        total = np.maximum(0.0, total + steps[:, step : step + days])
    return total
