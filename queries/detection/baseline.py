"""What a series was like before the days that are judged: level, weekdays, spread, memory.

Works on blocks of series at once. Never sees the days that it judges.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from numpy.typing import NDArray

from queries.detection import method
from queries.detection.mix import Floats

_WEEKS = method.BASELINE_DAYS // method.WEEK
_SLOTS = np.arange(method.BASELINE_DAYS) % method.WEEK
_LOGS = np.linspace(np.log(1e-4), np.log(1e3), 400)


@dataclass(frozen=True, slots=True)
class Block:
    """Days of some series; `value`, `weight`, `squares` as `series.Panel` has them.

    The first day of a block is a whole number of weeks after the first of its panel.
    """

    is_rate: bool
    value: Floats
    weight: Floats
    squares: Floats


@dataclass(frozen=True, slots=True)
class Baseline:
    """Of each series: what a day is expected to be, and how far off it usually is.

    Levels: `level` and `weekday` add up, a day of n observations spreads by day_variance +
    job_variance / n. Rates: they multiply, and `unit` is the size of one event. `centre` and
    `scale` correct the scores to mean 0, spread 1; `stretch` is for days that resemble the last.
    """

    is_rate: bool
    is_ready: NDArray[np.bool_]
    level: Floats
    weekday: Floats
    day_variance: Floats
    job_variance: Floats
    unit: Floats
    centre: Floats
    scale: Floats
    stretch: Floats
    span: Floats
    days: Floats
    observations: Floats

    def of(self, place: int) -> Baseline:
        """That of one of the series."""
        one = slice(place, place + 1)
        return Baseline(self.is_rate, *(getattr(self, each.name)[one] for each in fields(self)[1:]))

    @property
    def volume(self) -> Floats:
        """Observations, or events, a day; of few events rather too many than too few."""
        more = method.CAUTIOUS_EVENTS if self.is_rate else 0.0
        return (self.observations + more) / np.maximum(self.days, 1)


@dataclass(frozen=True, slots=True)
class Scores:
    """Of each day: how many spreads it lies above what is expected (nan: no value).

    `expected` is in the terms of the value, `precision` what the day weighs.
    """

    z: Floats
    expected: Floats
    precision: Floats

    def of(self, place: int) -> Scores:
        """Those of one of the series."""
        one = slice(place, place + 1)
        return Scores(self.z[one], self.expected[one], self.precision[one])


def fit(block: Block) -> Baseline:
    """Learn from a block of BASELINE_DAYS days."""
    return _fit_rates(block) if block.is_rate else _fit_levels(block)


def is_ready(block: Block) -> NDArray[np.bool_]:
    """Which series of a block of BASELINE_DAYS days were told of for long enough to learn from."""
    is_told = block.weight > 0
    ready = (_span(is_told) >= method.LEAST_BASELINE_DAYS) & (
        is_told.sum(1) >= method.LEAST_BASELINE_VALUES
    )
    if not block.is_rate:
        ready &= block.weight.sum(1) >= method.LEAST_BASELINE_OBSERVATIONS
    return np.asarray(ready)


def score(baseline: Baseline, block: Block) -> Scores:
    """Score the days of a block, uncut."""
    slots = np.arange(block.value.shape[1]) % method.WEEK
    is_told = block.weight > 0
    if baseline.is_rate:
        expected = baseline.level[:, None] * baseline.weekday[:, slots] * block.weight
        unit = baseline.unit[:, None]
        raw = _counted(block.value / unit, expected / unit)
        precision = expected / unit / baseline.scale[:, None] ** 2
    else:
        expected = baseline.level[:, None] + baseline.weekday[:, slots]
        variance = baseline.day_variance[:, None] + baseline.job_variance[:, None] / np.maximum(
            block.weight, 1
        )
        raw = (np.where(is_told, block.value, 0.0) - expected) / np.sqrt(variance)
        precision = 1 / (variance * baseline.scale[:, None] ** 2)
    z = (raw - baseline.centre[:, None]) / baseline.scale[:, None]
    return Scores(np.where(is_told, z, np.nan), expected, np.where(is_told, precision, 0.0))


def _fit_levels(block: Block) -> Baseline:
    is_told = block.weight > 0
    told = is_told.astype(float)
    y = np.where(is_told, block.value, 0.0)
    n = np.maximum(block.weight, 1)
    freedom = (np.maximum(block.weight - 1, 0)).sum(1)
    job = (block.squares.sum(1) + method.PRIOR_JOB_VARIANCE * method.PRIOR_JOB_COUNT) / (
        freedom + method.PRIOR_JOB_COUNT
    )
    noise = job[:, None] / n
    days = told.sum(1)
    level = _median(y, is_told)
    spread = 1.4826 * _median(np.abs(y - level[:, None]), is_told)
    shared = (noise * told).sum(1) / np.maximum(days, 1)
    floor = method.LEAST_SPREAD**2
    day = np.maximum(spread**2 - shared, floor)
    weekday = np.zeros((len(y), method.WEEK))
    for _ in range(2):
        sd = np.sqrt(day[:, None] + noise)
        weight = told / sd**2
        weekly = _weekly(weekday)
        left = _cut(y - level[:, None] - weekly, method.WINSOR * sd)
        level = level + _mean(left, weight)
        left = _cut(y - level[:, None] - weekly, method.WINSOR * sd)
        weekday = _weekdays(left + weekly, weight, days)
        left = _cut(y - level[:, None] - _weekly(weekday), method.CLIP * sd) * told
        total = (left**2).sum(1) / np.maximum(days, 1) / method.CLIPPED_VARIANCE
        day = np.maximum(total - shared, floor)
    sd = np.sqrt(day[:, None] + noise)
    z = (y - level[:, None] - _weekly(weekday)) / sd * told
    scale, stretch = _calibrated(z, told)
    scale = np.maximum(scale, method.LEAST_SPREAD / np.sqrt(day + shared))
    return Baseline(
        False,
        is_ready(block),
        level,
        weekday,
        day,
        job,
        np.ones(len(y)),
        np.zeros(len(y)),
        scale,
        stretch,
        _span(is_told),
        days,
        block.weight.sum(1),
    )


def _fit_rates(block: Block) -> Baseline:
    is_told = block.weight > 0
    told = is_told.astype(float)
    total, exposure = block.value * told, block.weight
    whole = total.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(whole > 0, block.squares.sum(1) / whole, 1.0)
    exposed = np.maximum(exposure.sum(1), 1e-9)
    # half an event more than none: a rate of zero would make the first event a wonder
    level = (whole + 0.5 * unit) / exposed
    weekday = np.ones((len(total), method.WEEK))
    for _ in range(2):
        expected = level[:, None] * _weekly(weekday) * exposure
        cut = np.minimum(total, expected + 3 * np.sqrt(expected * unit[:, None]) + unit[:, None])
        level = (cut.sum(1) + 0.5 * unit) / np.maximum((_weekly(weekday) * exposure).sum(1), 1e-9)
        even = level[:, None] * exposure
        prior = 10 * unit[:, None] + 0.02 * whole[:, None]
        weekday = (_by_weekday(cut) + prior) / (_by_weekday(even) + prior)
    expected = level[:, None] * _weekly(weekday) * exposure
    raw = _counted(total / unit[:, None], expected / unit[:, None]) * told
    days = told.sum(1)
    centre = _cut(raw, method.CLIP).sum(1) / np.maximum(days, 1)
    scale, stretch = _calibrated((raw - centre[:, None]) * told, told)
    zero = np.zeros(len(total))
    return Baseline(
        True,
        is_ready(block),
        level,
        weekday,
        zero,
        zero,
        unit,
        centre,
        np.maximum(scale, 0.5),
        stretch,
        _span(is_told),
        days,
        whole / unit,
    )


def _span(is_told: NDArray[np.bool_]) -> Floats:
    return np.where(is_told.any(1), is_told.shape[1] - np.argmax(is_told, axis=1), 0.0)


def _calibrated(z: Floats, told: Floats) -> tuple[Floats, Floats]:
    """The spread of scores, and by how much the sum of a run of days spreads more than that."""
    days = told.sum(1)
    cut = _cut(z, method.CLIP)
    square = (cut**2).sum(1) / method.CLIPPED_VARIANCE
    scale = np.sqrt((square + method.PRIOR_SCALE_DAYS) / (days + method.PRIOR_SCALE_DAYS))
    pairs = (told[:, 1:] * told[:, :-1]).sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        product = (cut[:, 1:] * cut[:, :-1]).sum(1) / np.maximum(pairs, 1)
        found = np.where(square > 0, product / ((cut**2).sum(1) / np.maximum(days, 1)), 0.0)
    weight = pairs / (pairs + method.PRIOR_CORRELATION_DAYS)
    correlation = weight * found + (1 - weight) * method.PRIOR_CORRELATION
    correlation = np.clip(correlation, 0.0, method.MOST_CORRELATION)
    youth = np.maximum(1 / np.maximum(days, 1) - 1 / method.BASELINE_DAYS, 0.0)
    stretch = (1 + method.CORRELATION_STRETCH * correlation) * (1 + method.YOUTH_STRETCH * youth)
    return scale, np.sqrt(stretch)


def _counted(total: Floats, expected: Floats) -> Floats:
    """Counts on a scale where their spread hardly depends on what is expected (Anscombe 1948)."""
    return (2 * np.sqrt(total + 0.375) - _expected_root(expected)) / _spread_of_root(expected)


@cache  # not where this is imported: most commands judge nothing
def _poisson_roots() -> tuple[Floats, Floats]:
    """On a grid of Poisson means (their logs): mean and spread of 2 sqrt(count + 3/8)."""
    means = np.exp(_LOGS)
    counts = np.arange(1300)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    chances = np.exp(counts * _LOGS[:, None] - means[:, None] - factorials)
    roots = 2 * np.sqrt(counts + 0.375)
    first = chances @ roots
    return first, np.sqrt(np.maximum(chances @ roots**2 - first**2, 1e-6))


def _expected_root(expected: Floats) -> Floats:
    roots, _ = _poisson_roots()
    inside = _between(np.log(np.maximum(expected, 1e-4)), roots)
    return np.where(expected > 1e3, 2 * np.sqrt(expected + 0.125), inside)


def _spread_of_root(expected: Floats) -> Floats:
    _, spreads = _poisson_roots()
    # below one event in a hundred days a single one would be a dozen spreads
    return _between(np.log(np.maximum(expected, 0.01)), spreads)


def _between(logs: Floats, values: Floats) -> Floats:
    """`values` of the even grid `_LOGS`, in between by straight lines: `np.interp` would search."""
    last = len(_LOGS) - 1
    place = np.minimum((logs - _LOGS[0]) * (last / (_LOGS[-1] - _LOGS[0])), last)
    low = np.minimum(place.astype(np.int64), last - 1)
    return np.asarray(values[low] + (place - low) * (values[low + 1] - values[low]))


def _weekly(weekday: Floats) -> Floats:
    return weekday[:, _SLOTS]


def _by_weekday(values: Floats) -> Floats:
    return np.asarray(values.reshape(len(values), _WEEKS, method.WEEK).sum(1))


def _weekdays(left: Floats, weight: Floats, days: Floats) -> Floats:
    typical = weight.sum(1) / np.maximum(days, 1)
    effect = _by_weekday(left * weight) / (
        _by_weekday(weight) + method.WEEKDAY_SHRINKAGE * np.maximum(typical, 1e-12)[:, None]
    )
    return np.asarray(effect - effect.mean(1, keepdims=True))


def _mean(values: Floats, weight: Floats) -> Floats:
    return np.asarray((values * weight).sum(1) / np.maximum(weight.sum(1), 1e-12))


def _cut(values: Floats, at: Floats | float) -> Floats:
    return np.clip(values, -at, at)


def _median(values: Floats, is_told: NDArray[np.bool_]) -> Floats:
    """Of each row the middle of what is told; 0 where nothing is."""
    ordered = np.sort(np.where(is_told, values, np.inf), axis=1)
    count = is_told.sum(1)
    rows = np.arange(len(values))
    low = ordered[rows, np.maximum(count - 1, 0) // 2]
    high = ordered[rows, np.minimum(count // 2, values.shape[1] - 1)]
    return np.where(count > 0, (low + high) / 2, 0.0)
