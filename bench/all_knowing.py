"""How far a detector gets that knows all of the simulated world but when it changes.

It knows the spread of days and jobs, how much a day remembers, the weekdays, the outliers and the
size of the step, and sums the likelihood ratios of every first day it may have been (Shiryaev and
Roberts). What learns all that from the data has to stay behind it, but for chance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bench import alarms
from bench.series_fleets import Floats, Step, World, daily_figures

_LOOKS_BACK = 21
Ints = NDArray[np.int64]


def scores(value: Floats, count: Floats, step: float, world: World) -> tuple[Floats, Ints]:
    """Of series of mean logs, [series, day], the log of the sum over the last 21 first days of the
    likelihood ratio of a step by `step`, and the likeliest of those days.

    A Kalman filter of the day effect, which remembers the day before, told of `count` jobs each;
    days that are sooner outliers than not are left out.
    """
    series, days = value.shape
    fresh = world.day_spread**2 * (1 - world.memory**2)
    level, doubt = np.zeros(series), np.full(series, world.day_spread**2)
    ratios = np.full((series, _LOOKS_BACK), -np.inf)
    taken = np.zeros((series, _LOOKS_BACK))  # of a step from each first day, what the filter took
    firsts = np.zeros(_LOOKS_BACK, dtype=np.int64)
    summed, first = np.empty((series, days)), np.empty((series, days), dtype=np.int64)
    for day in range(days):
        if day:
            level, taken = world.memory * level, world.memory * taken
            doubt = world.memory**2 * doubt + fresh
        place = day % _LOOKS_BACK
        ratios[:, place], taken[:, place], firsts[place] = 0.0, 0.0, day
        spread = doubt + world.job_spread**2 / np.maximum(count[:, day], 1)
        news = value[:, day] - level
        is_told = ~np.isnan(news) & ~_is_outlier(news, spread, step, world)
        news = np.where(is_told, news, 0.0)
        gain = np.where(is_told, doubt / spread, 0.0)
        moved = step - taken
        ratios += np.where(
            is_told[:, None], (moved * news[:, None] - moved**2 / 2) / spread[:, None], 0.0
        )
        taken = taken + gain[:, None] * moved
        level, doubt = level + gain * news, (1 - gain) * doubt
        top = ratios.max(1)
        summed[:, day] = top + np.log(np.exp(ratios - top[:, None]).sum(1))
        first[:, day] = firsts[ratios.argmax(1)]
    return summed, first


def reach(
    seed: int, series: int, warm_days: int, first_day: int, per_day: float, ratio: float
) -> tuple[float, float, float]:
    """At 1 false alarm a series-year: recall within 14 days, median delay, and the share of what
    is found whose first day is told within 2 days.
    """
    # who knows the weekdays has a world without them
    world, step = replace(World(), weekday_spread=0.0), float(np.log(ratio))
    panel, _ = daily_figures(seed, series, warm_days + 365, per_day, world)
    quiet, _ = scores(panel.value, panel.weight, step, world)
    quiet[:, :warm_days] = np.nan
    limit = alarms.limit_for(quiet, 1.0)
    panel, _ = daily_figures(
        seed + 1, series, first_day + alarms.WITHIN_DAYS, per_day, world, Step(first_day, ratio)
    )
    stepped, first = scores(panel.value, panel.weight, step, world)
    share, delay = alarms.recall(stepped, limit, first_day)
    over = stepped[:, first_day:] > limit
    found = np.flatnonzero(over.any(1))
    told = first[found, first_day + over[found].argmax(1)]
    return share, delay, float(np.mean(np.abs(told - first_day) <= 2))


def _is_outlier(news: Floats, spread: Floats, step: float, world: World) -> NDArray[np.bool_]:
    """By the likelihoods of a usual day, with or without the step, and of an outlier."""
    usual = np.minimum(np.abs(news), np.abs(news - step))
    wide = spread + (0.3 * world.outlier) ** 2
    with np.errstate(invalid="ignore"):
        odds = (1 - world.outlier_share) * np.exp(-(usual**2) / (2 * spread)) / np.sqrt(spread)
        against = np.exp(-((news - world.outlier) ** 2) / (2 * wide)) / np.sqrt(wide)
        return np.asarray(odds < world.outlier_share * against)
