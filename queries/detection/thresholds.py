"""Where the sums are high enough: the measured table, by kind and volume of a series.

`make calibrate` writes thresholds.csv; nothing here chooses a number.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from queries.detection.mix import Floats

TABLE = Path(__file__).parent / "thresholds.csv"


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of some series: alarms of the method alone, and those that are opened.

    `shift` is the change, in spreads of a day, that opens within 14 days in 80 % of cases.
    """

    method_slow: Floats
    method_fast: Floats
    slow: Floats
    fast: Floats
    shift: Floats


@dataclass(frozen=True, slots=True)
class Tier:
    """The rows of a kind that are used, by volume."""

    per_day: Floats
    columns: dict[str, Floats]


def limits(is_rate: bool, per_day: Floats) -> Limits:
    """Of series with so many jobs (levels) or events (rates) a day; between tiers, in between.

    Arrays of any shape; nan stays nan.
    """
    tier = tiers()["rate" if is_rate else "level"]
    at = np.log(np.clip(per_day, tier.per_day[0], tier.per_day[-1]))
    known = {
        name: np.interp(at, np.log(tier.per_day), values) for name, values in tier.columns.items()
    }
    return Limits(
        known["method_slow"],
        known["method_fast"],
        known["opens_slow"],
        known["opens_fast"],
        known["opens_shift"],
    )


@cache
def tiers() -> dict[str, Tier]:
    """By kind, `level` or `rate`."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["used_as"]]
    return {kind: _tier([row for row in rows if row["kind"] == kind]) for kind in ("level", "rate")}


def _tier(rows: list[dict[str, str]]) -> Tier:
    places = sorted({float(row["per_day"]) for row in rows})
    columns = {
        f"{use}_{name}": np.array(
            [
                next(
                    float(row[name])
                    for row in rows
                    if row["used_as"] == use and float(row["per_day"]) == place
                )
                for place in places
            ]
        )
        for use in ("method", "opens")
        for name in ("slow", "fast", "shift")
    }
    return Tier(np.array(places), columns)
