"""The model of checkpoint intervals (METRICS.md section 3), and the steps of its sliders.

Knows no database: what is measured comes in as arguments. Intervals and blocking are in seconds.
Its shares are of first order: above 1 they are told as all of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

DAY: Final = 86400.0
# Steps that a person would name, at most a tenth apart.
_DECADE: Final = (*range(10, 30), *range(30, 60, 2), 45, *range(60, 100, 5))


def unsaved_ratio(interval: float, per_day: float) -> float:
    """The share of train-loop time that interruptions discard: half an interval each."""
    return min(1.0, per_day * interval / 2 / DAY)


def blocked_ratio(interval: float, blocked: float) -> float:
    """The share of train-loop time that saves block."""
    return min(1.0, blocked / interval)


def wasted_ratio(interval: float, blocked: float, per_day: float) -> float:
    """Both together."""
    return min(1.0, unsaved_ratio(interval, per_day) + blocked_ratio(interval, blocked))


def is_coarse(interval: float, per_day: float) -> bool:
    """Whether more than one interruption falls into an interval, of which the shares make too much.

    Of x interruptions that come at random, 1 - x / (exp(x) - 1) of it is lost, and not x / 2.
    """
    return per_day * interval > DAY


def best_interval(blocked: float, per_day: float) -> float:
    """Where the sum is least: both shares are equal there. Both arguments above zero."""
    return math.sqrt(2 * blocked * DAY / per_day)


def steps(low: float, high: float) -> list[float]:
    """The steps of a logarithmic slider, both ends included."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    named = (float(f"{step}e{power}") for power in powers for step in _DECADE)
    return sorted({low, high, *(each for each in named if low < each < high)})


def steps_around(measured: float | None, low: float, high: float) -> list[float]:
    """The steps from `low` to `high`, by whole decades further where it takes more to hold what
    was measured: a job that runs for weeks is interrupted once in a hundred days.
    """
    if not measured:
        return steps(low, high)
    decades = math.floor(math.log10(measured)), math.ceil(math.log10(measured))
    below, above = (float(f"1e{decade}") for decade in decades)
    return steps(
        low if measured >= low else below,
        high if measured <= high else above,
    )


def nearest(value: float, offered: Sequence[float]) -> float:
    """The step that is nearest by ratio."""
    at = max(value, min(offered))
    return min(offered, key=lambda step: abs(math.log(step / at)))
