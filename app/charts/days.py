"""The axes that charts share: of days, of durations and of shares. Draws no data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any, Final

import polars as pl

from app import words

_PALE: Final = 0.4
_HALF_DAY: Final = timedelta(hours=12)
_DAY_MS: Final = 86_400_000
COLUMN_MS: Final = 0.94 * _DAY_MS  # of a day's column: plotly would draw a single day 1 ms wide
# as many digits as the step asks for: with fewer, ticks of a small share would be named alike
SHARE_TICKS: Final = {"tickformat": "~%", "nticks": 6}
_TICKS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 345600)


def day_axis(days: pl.DataFrame) -> dict[str, Any]:
    """Settings of an x axis that holds every `day` of the frame with half a day on both sides."""
    return {
        "type": "date",  # plotly would guess a number where no trace has a day
        "range": padded(days),
        "tickformat": "%-d %b",
        "nticks": 8,
        "dtick": _DAY_MS if days.height <= 8 else None,  # else a day would be named twice
        "showline": True,
        "ticklabelstandoff": 4,
    }


def few_days(days: pl.DataFrame, most: int) -> dict[str, Any]:
    """Such an axis in a small figure: of more than `most` days about so many are named."""
    spacing = {} if days.height <= most else {"dtick": None, "nticks": most}
    return {**day_axis(days), **spacing, "tickangle": 0}


def padded(days: pl.DataFrame) -> list[datetime] | None:
    """The limits of such an axis; none without a day."""
    first, last = days["day"].min(), days["day"].max()
    if not isinstance(first, date) or not isinstance(last, date):
        return None
    return [midnight(first) - _HALF_DAY, midnight(last) + _HALF_DAY]


def told(days: pl.DataFrame) -> pl.DataFrame:
    """The days that lines are drawn through: the complete ones of `days`, all where none is.

    A page of days of which none is complete says so, and its numbers are of them all the same.
    """
    complete = days.filter("is_complete")
    return days if complete.is_empty() else complete


def opacity(days: pl.DataFrame) -> list[float]:
    """How opaque the columns of these days are: one of a day that is not complete is pale."""
    return [1.0 if complete else _PALE for complete in days["is_complete"]]


def dots(values: pl.Series, size: int, *, is_marked: bool) -> dict[str, Any]:
    """Mode and marker of a line by day: a day between two without a value is always a dot.

    A line draws nothing of such a day. `is_marked`: every day is a dot.
    """
    known = values.is_not_null()
    alone = known & ~known.shift(1, fill_value=False) & ~known.shift(-1, fill_value=False)
    if is_marked or not alone.any():
        return {"mode": "lines+markers" if is_marked else "lines", "marker": {"size": size}}
    sizes = [size if is_alone else 0 for is_alone in alone]
    return {"mode": "lines+markers", "marker": {"size": sizes, "line": {"width": 0}}}


def stretches(days: pl.DataFrame, *columns: str) -> list[pl.DataFrame]:
    """The unbroken runs of at least two rows in which none of the columns is null."""
    known = days.with_columns(
        gap=pl.any_horizontal(pl.col(columns).is_null()),
    ).with_columns(run=pl.col("gap").cum_sum())
    parts = known.filter(~pl.col("gap")).partition_by("run", maintain_order=True)
    return [part for part in parts if part.height > 1]


def midnight(day: date) -> datetime:
    """Where a day begins on such an axis."""
    return datetime(day.year, day.month, day.day)


def duration_axis(least: float, most: float) -> dict[str, Any]:
    """Settings of a logarithmic axis of seconds that holds both of these."""
    low, high = max(least, 0.1) / 1.1, max(most, least, 0.2) * 1.1
    ticks = [each for each in _TICKS if low <= each <= high]
    if len(ticks) < 2:
        ticks = _multiples(low, high) or ticks
    return {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickvals": ticks,
        "ticktext": [words.duration(each) for each in ticks],
        "ticklabelstandoff": 6,
    }


def _multiples(low: float, high: float) -> list[int]:
    """The multiples between these of the largest step that has two there; none below two steps."""
    for step in reversed(_TICKS):
        first, last = math.ceil(low / step), math.floor(high / step)
        if last > first:
            return [step * place for place in range(first, last + 1)]
    return []


def spread(frames: Iterable[pl.DataFrame], *columns: str) -> tuple[float, float]:
    """The least and the most seconds in these columns; one minute to ten where there are none."""
    values = pl.concat(
        [frame[name].cast(pl.Float64) for frame in frames for name in columns]
    ).drop_nulls()
    if not values.len():
        return 60.0, 600.0
    return float(values.to_numpy().min()), float(values.to_numpy().max())
