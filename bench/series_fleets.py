"""Simulated series for calibration and comparison, drawn as arrays: no dumps, no warehouse.

Jobs are lognormal; days have a weekday cycle, remember the day before, and some are outliers or
missing. docs/detection.md says why the numbers are these.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from queries.detection.series import Panel

Floats = NDArray[np.float64]

BEGINS = date(2024, 1, 1)
_WEEKDAY_JOBS = np.array([1.15, 1.25, 1.25, 1.2, 1.05, 0.55, 0.55])


@dataclass(frozen=True, slots=True)
class World:
    """What days and jobs are like; spreads are of natural logs."""

    job_spread: float = 0.7
    day_spread: float = 0.05
    memory: float = 0.3
    weekday_spread: float = 0.08
    outlier_share: float = 0.02
    outlier: float = 0.6
    missing_share: float = 0.03


@dataclass(frozen=True, slots=True)
class Step:
    """From day `first` on everything takes `ratio` times as long, after a ramp of `ramp` days.

    `lasts`: days until it goes away by itself; 0: it stays.
    """

    first: int
    ratio: float
    ramp: int = 0
    lasts: int = 0

    def logs(self, days: int) -> Floats:
        since = np.arange(days) - self.first + 1
        share = np.clip(since / (self.ramp + 1), 0.0, 1.0)
        if self.lasts:
            share = np.where(since > self.lasts, 0.0, share)
        return np.asarray(share * np.log(self.ratio))


def latencies(
    seed: int, series: int, days: int, per_day: float, world: World, step: Step | None = None
) -> Panel:
    """Independent latency series of teams with `per_day` jobs a day.

    Means and squares of normal logs are drawn as such: the same as summing up jobs.
    """
    rng = np.random.default_rng(seed)
    shift = day_effects(rng, series, days, world)
    if step is not None:
        shift += step.logs(days)
    count = jobs(rng, series, days, per_day, world)
    some = np.maximum(count, 1)
    mean = rng.normal(0.0, 1.0, count.shape) * world.job_spread / np.sqrt(some) + shift
    within = world.job_spread**2 * rng.chisquare(np.maximum(some - 1, 1e-9))
    value = np.where(count > 0, mean, np.nan)
    return panel_of(value, count, np.where(count > 1, within, 0.0), "pt2_compile_seconds")


def daily_figures(
    seed: int, series: int, days: int, per_day: float, world: World, step: Step | None = None
) -> tuple[Panel, Floats]:
    """The same from single jobs, and beside it the log of each day's mean, as a dashboard has."""
    rng = np.random.default_rng(seed)
    shift = day_effects(rng, series, days, world)
    if step is not None:
        shift += step.logs(days)
    count = jobs(rng, series, days, per_day, world)
    left = rng.normal(0.0, world.job_spread, int(count.sum()))
    place = np.repeat(np.arange(count.size), count.ravel().astype(int))

    def summed(values: Floats) -> Floats:
        of_all: Floats = np.bincount(place, values, count.size).astype(float)
        return of_all.reshape(count.shape)

    with np.errstate(divide="ignore", invalid="ignore"):
        mean = summed(left) / count
        log_of_mean = np.log(summed(np.exp(left)) / count) + shift
        within = np.nan_to_num(summed(left**2) - count * mean**2)
    return panel_of(mean + shift, count, within, "pt2_compile_seconds"), log_of_mean


def events(
    seed: int,
    series: int,
    days: int,
    per_day: float,
    world: World,
    ratio: float = 1.0,
    first: int = 0,
) -> Panel:
    """Independent counts with `per_day` events a day, `ratio` times as many from `first` on."""
    rng = np.random.default_rng(seed)
    shape = (series, days)
    exposure = np.exp(day_effects(rng, series, days, world)) * _WEEKDAY_JOBS[np.arange(days) % 7]
    rate = np.where(np.arange(days) >= first, ratio, 1.0) * per_day
    # days differ: a broken switch is several failures
    count = rng.poisson(rng.gamma(4.0, 0.25, shape) * rate * exposure).astype(float)
    exposure[rng.random(shape) < world.missing_share] = 0.0
    count[exposure == 0] = 0.0
    return Panel(
        BEGINS,
        True,
        tuple((f"team-{number}", "failures") for number in range(series)),
        count,
        exposure,
        count,
        count,
        exposure,
        exposure,
        np.zeros(shape),
    )


def day_effects(rng: np.random.Generator, series: int, days: int, world: World) -> Floats:
    """Logs: weekday cycle, days that remember the last, outliers upwards."""
    effects = np.empty((series, days))
    drawn = rng.normal(0.0, 1.0, (series, days))
    effects[:, 0] = drawn[:, 0]
    fresh = np.sqrt(1 - world.memory**2)
    for day in range(1, days):
        effects[:, day] = world.memory * effects[:, day - 1] + fresh * drawn[:, day]
    weekdays = rng.normal(0.0, world.weekday_spread, (series, 7))[:, np.arange(days) % 7]
    sizes = np.abs(rng.normal(world.outlier, 0.3 * world.outlier, (series, days)))
    outliers = np.where(rng.random((series, days)) < world.outlier_share, sizes, 0.0)
    return world.day_spread * effects + weekdays + outliers


def jobs(rng: np.random.Generator, series: int, days: int, per_day: float, world: World) -> Floats:
    """Jobs of each day; none on a missing one."""
    count = rng.poisson(per_day * _WEEKDAY_JOBS[np.arange(days) % 7], (series, days)).astype(float)
    count[rng.random((series, days)) < world.missing_share] = 0.0
    return count


def panel_of(value: Floats, count: Floats, within: Floats, name: str) -> Panel:
    """A panel of levels whose series are teams of one measure."""
    keys = tuple((f"team-{number}", name) for number in range(len(value)))
    told = np.nan_to_num(value) * count
    return Panel(
        BEGINS, False, keys, value, count, within, told, count, count, np.zeros(value.shape)
    )
