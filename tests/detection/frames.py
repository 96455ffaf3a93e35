"""Frames of cells for the detector's tests, and what is asked of what it finds."""

from __future__ import annotations

from datetime import date, timedelta
from functools import cache
from typing import Any

import polars as pl

from bench.series_fleets import BEGINS, Step, World
from bench.whole_fleets import fleet, last_day
from queries.detection.series import COLUMNS
from queries.regressions import Found, Settings, detect

DAYS = 150
FIRST = 120
STEADY = World(job_spread=0.3, day_spread=0.03, outlier_share=0.0, missing_share=0.0)

Steps = dict[tuple[int | None, str], Step]


def found(
    steps: Steps | None = None,
    *,
    teams: int = 3,
    per_day: float = 15.0,
    days: int = DAYS,
    seed: int = 5,
    world: World = STEADY,
    settings: Settings | None = None,
) -> Found:
    """What is found in a simulated fleet; the fleet of this seed has no false alarm."""
    return _found(
        tuple((steps or {}).items()), teams, per_day, days, seed, world, settings or Settings()
    )


@cache
def _found(
    steps: tuple[tuple[tuple[int | None, str], Step], ...],
    teams: int,
    per_day: float,
    days: int,
    seed: int,
    world: World,
    settings: Settings,
) -> Found:
    return detect(fleet(seed, teams, days, per_day, world, dict(steps)), last_day(days), settings)


def day(number: int) -> date:
    """The day of a number, 0 being the first."""
    return BEGINS + timedelta(days=number)


def rows(frame: pl.DataFrame, *columns: str, **equal: object) -> list[tuple[Any, ...]]:
    """Some columns of the rows that have these values."""
    chosen = frame
    for name, value in equal.items():
        chosen = chosen.filter(pl.col(name) == value)
    return chosen.select(columns).rows()


def open_rows(told: Found) -> list[tuple[Any, ...]]:
    return rows(told.regressions, "team", "metric", "verdict", state="open")


def cells(*told: dict[str, object]) -> pl.DataFrame:
    """A frame of cells from rows that say only what matters."""
    usual = {
        "team": "ranking",
        "metric": "trainer_init_seconds",
        "day": BEGINS,
        "workload": "production",
        "size": 6,
        "trial": "first",
        "model": "m",
        "rows": 1.0,
        "exposure": 1.0,
        "total": 5.0,
        "squares": 25.0,
        "gpu_seconds": 1000.0,
    }
    return pl.DataFrame([usual | each for each in told], COLUMNS)
