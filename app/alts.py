"""Figures as words with their numbers, for readers who do not see them. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from typing import Final

import polars as pl

from app import words

MOST: Final = 16  # a list read aloud ends somewhere, but not before the last area


def by_day(
    days: pl.DataFrame, last_day: date, column: str, show: Callable[[float | None], str]
) -> str:
    """`lowest 63.6 % on Sun 8 Nov, highest 92.3 % on Mon 16 Nov, last 89.9 % on Thu 19 Nov`.

    The days after `last_day` are not complete: what they hold so far is told to nobody.
    """
    known = days.filter(pl.col("day") <= last_day).select("day", value=pl.col(column)).drop_nulls()
    if known.is_empty():
        return "no value"
    ranked = known.sort("value", "day")
    picked = (("lowest", ranked.row(0)), ("highest", ranked.row(-1)), ("last", known.row(-1)))
    return ", ".join(f"{which} {show(value)} on {words.day(day)}" for which, (day, value) in picked)


def listed(parts: Iterable[tuple[str, str]]) -> str:
    """`trainer_init 14.3k, unsaved 34.4k`: names with their numbers, the first of many."""
    told = [f"{words.clipped(name, 40)} {number}" for name, number in parts]
    rest = f", and {len(told) - MOST} more" if len(told) > MOST else ""
    return ", ".join(told[:MOST]) + rest
