"""Simulated fleets with every series that is watched, as the frame the detector reads.

Nothing changes in them but what a `Step` says. No dumps, no warehouse: those are slow, and a test
holds that they give such frames (tests/detection).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import polars as pl

from bench.series_fleets import BEGINS, Floats, Step, World, day_effects, jobs
from queries.detection.mix import Ints

AREAS = {
    "scheduling": 14.0,
    "hardware_setup": 34.0,
    "launcher_init": 22.0,
    "trainer_init": 145.0,
    "pt2_compile": 90.0,
}
_STAGES = ("device_init", "preproc_creation", "train_module_creation", "get_first_batch_data")
_DOMAINS = {"gpu_hardware": 0.02, "network": 0.01, "storage": 0.01, "user_code": 0.06}
_PREEMPTED = 0.07
_SIZES = np.array([3, 4, 5, 6, 7])
_SIZE_SHARES = np.array([0.3, 0.25, 0.2, 0.15, 0.1])


@dataclass(frozen=True, slots=True)
class Attempts:
    """Attempts as columns; `place` is the (team, day) each stands in."""

    team: Ints
    day: Ints
    size: Ints
    is_production: np.ndarray
    is_retry: np.ndarray
    model: Ints


def fleet(
    seed: int,
    teams: int,
    days: int,
    per_day: float,
    world: World,
    steps: dict[tuple[int | None, str], Step] | None = None,
) -> pl.DataFrame:
    """A frame of `series.COLUMNS`; `steps` are by (team, area), team None: all teams."""
    rng = np.random.default_rng(seed)
    count = jobs(rng, teams, days, per_day, world)
    attempts = _attempts(rng, count, steps or {})
    frames = list(_metrics(rng, attempts, teams, days, world, steps or {}))
    return pl.concat(frames)


def _attempts(
    rng: np.random.Generator, count: Floats, steps: dict[tuple[int | None, str], Step]
) -> Attempts:
    days = count.shape[1]
    place = np.repeat(np.arange(count.size), count.ravel().astype(int))
    size = rng.choice(_SIZES, len(place), p=_SIZE_SHARES)
    for (team, name), step in steps.items():
        if name == "size":
            # the work itself changes: jobs of `ratio` times as many GPUs
            is_larger = (place // days == team) & (place % days >= step.first)
            size = np.where(is_larger, size + round(np.log2(step.ratio)), size)
    return Attempts(
        place // days,
        place % days,
        size,
        rng.random(len(place)) < 0.3,
        rng.random(len(place)) < 0.15,
        rng.integers(0, 3, len(place)),
    )


def _metrics(
    rng: np.random.Generator,
    attempts: Attempts,
    teams: int,
    days: int,
    world: World,
    steps: dict[tuple[int | None, str], Step],
) -> Iterator[pl.DataFrame]:
    n = len(attempts.team)

    def drawn(name: str, median: float, spread: float) -> Floats:
        effects = day_effects(rng, teams, days, world)
        for (team, area), step in steps.items():
            if area == name:
                effects[slice(None) if team is None else team] += step.logs(days)
        mix = 0.08 * attempts.size + 0.1 * attempts.is_production - 0.1 * attempts.is_retry
        noise = rng.normal(0.0, spread, n)
        shift = (
            effects[attempts.team, attempts.day]
            + mix
            + 0.1 * rng.normal(0, 1, teams)[attempts.team]
        )
        return np.asarray(median * np.exp(noise + shift))

    whole = np.zeros(n)
    for area, median in AREAS.items():
        seconds = drawn(area, median, world.job_spread)
        whole += seconds
        yield _latency(f"{area}_seconds", attempts, seconds)
        if area == "trainer_init":
            tells = rng.random(n) < 0.4
            for stage in _STAGES:
                part = seconds * 0.25 * np.exp(rng.normal(0, 0.3, n))
                yield _latency(f"trainer_init_{stage}_seconds", attempts, part, tells)
    yield _latency("tts_seconds", attempts, whole, ~attempts.is_retry)
    recovery = whole + 60 * np.exp(rng.normal(0, 1.0, n))
    yield _latency("ttr_seconds", attempts, recovery, attempts.is_retry)
    yield _latency("checkpoint_save_seconds", attempts, drawn("checkpoint_save", 20.0, 0.4))
    yield _latency("shutdown_seconds", attempts, drawn("shutdown", 40.0, world.job_spread))
    yield from _ends(rng, attempts, whole, steps, days)


def _ends(
    rng: np.random.Generator,
    attempts: Attempts,
    starting: Floats,
    steps: dict[tuple[int | None, str], Step],
    days: int,
) -> Iterator[pl.DataFrame]:
    n = len(attempts.team)
    wall = 3 * 3600 * np.exp(rng.normal(0, 0.8, n)) + starting
    gpu_days = wall * 2.0**attempts.size
    hazard = np.ones(n)
    for (team, name), step in steps.items():
        if name == "preemption":
            is_mine = np.ones(n, bool) if team is None else attempts.team == team
            hazard = np.where(is_mine, np.exp(step.logs(days))[attempts.day], hazard)
    preempted = rng.random(n) < _PREEMPTED * hazard
    failed = np.zeros(n, bool)
    for domain, share in _DOMAINS.items():
        here = rng.random(n) < share
        failed |= here
        lost = wall * 2.0**attempts.size * 0.1
        yield _rate(f"failures_{domain}", attempts, np.zeros(n), here.astype(float), lost)
    yield _rate(
        "failures", attempts, gpu_days, failed.astype(float), wall * 2.0**attempts.size * 0.1
    )
    yield _rate("preemption_ratio", attempts, np.ones(n), preempted.astype(float), wall * 10)
    broken = failed | preempted
    unsaved = np.where(broken, np.minimum(rng.exponential(900, n), wall / 2), 0.0)
    hung = np.where(
        rng.random(n) < 0.02, np.minimum(600 * np.exp(rng.normal(0, 1, n)), wall / 2), 0
    )
    gpus = 2.0**attempts.size
    yield _rate("unsaved_ratio", attempts, wall, unsaved, unsaved * gpus)
    yield _rate("stalled_ratio", attempts, wall, hung, hung * gpus)
    lost = np.minimum(starting + unsaved + hung, wall)
    yield _rate("ett_ratio", attempts, wall, lost, lost * gpus)


def _latency(
    name: str, attempts: Attempts, seconds: Floats, where: np.ndarray | None = None
) -> pl.DataFrame:
    logs = np.log(np.maximum(seconds, 0.1))
    gpu = seconds * 2.0**attempts.size
    return _frame(name, attempts, np.ones(len(logs)), logs, logs**2, gpu, where, True)


def _rate(
    name: str, attempts: Attempts, exposure: Floats, total: Floats, gpu: Floats
) -> pl.DataFrame:
    return _frame(name, attempts, exposure, total, total**2, gpu * (total > 0), None, False)


def _frame(
    name: str,
    attempts: Attempts,
    exposure: Floats,
    total: Floats,
    squares: Floats,
    gpu: Floats,
    where: np.ndarray | None,
    by_class: bool,
) -> pl.DataFrame:
    chosen = slice(None) if where is None else where
    trial = attempts.is_retry if by_class else np.zeros(len(total), bool)
    model = attempts.model if by_class else np.zeros(len(total), int)
    rows = pl.DataFrame(
        {
            "team": attempts.team[chosen],
            "day": attempts.day[chosen],
            "workload": attempts.is_production[chosen],
            "size": attempts.size[chosen],
            "trial": trial[chosen],
            "model": model[chosen],
            "rows": np.ones(len(total))[chosen],
            "exposure": exposure[chosen],
            "total": total[chosen],
            "squares": squares[chosen],
            "gpu_seconds": gpu[chosen],
        }
    )
    keys = ["team", "day", "workload", "size", "trial", "model"]
    summed = rows.group_by(keys).agg(pl.exclude(keys).sum())
    return summed.select(
        pl.format("team-{}", "team").alias("team"),
        pl.lit(name).alias("metric"),
        (pl.lit(BEGINS) + pl.duration(days=pl.col("day"))).cast(pl.Date).alias("day"),
        pl.when("workload")
        .then(pl.lit("production"))
        .otherwise(pl.lit("exploration"))
        .alias("workload"),
        pl.col("size").cast(pl.Int64),
        pl.when("trial").then(pl.lit("retry")).otherwise(pl.lit("first")).alias("trial"),
        pl.format("model-{}", "model").alias("model"),
        "rows",
        "exposure",
        "total",
        "squares",
        "gpu_seconds",
    )


def last_day(days: int) -> date:
    """The last of so many days."""
    return BEGINS + timedelta(days=days - 1)
