"""Where the time of each day went, as columns to 100 %; effective below, so its edge is ETT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, hatched
from app.charts.days import COLUMN_MS, SHARE_TICKS, day_axis, opacity
from app.charts.marks import TARGET_MARGIN, target_line
from app.palette import AREA_ORDER, AREA_PATTERN, RECOVERY_PATTERN, Palette, translucent

FLOOR: Final = 0.6


def stack(
    shares: pl.DataFrame, days: pl.DataFrame, target: float | None, palette: Palette, height: int
) -> go.Figure:
    """Columns from `shares`: day, area, is_recovery, share_ratio. `days`: day, is_complete of every
    day of the axis; incomplete days are pale.

    The axis starts at 60 %, lower where a day's ETT or the target is lower.
    """
    return drawn(
        palette,
        height,
        _columns(shares, days, palette),
        margin={"r": TARGET_MARGIN, "t": 12},
        x=day_axis(days),
        y={
            "range": [_floor(shares, target), 1.0],
            "tickformat": ".0%",
            "nticks": 6,
            "ticklabelstandoff": 6,
        },
        barmode="stack",
        **target_line(target, palette),
    )


def one_area(days: pl.DataFrame, area: str, palette: Palette, height: int) -> go.Figure:
    """Columns of one area from `days`: day, is_complete, share_ratio, previous_share_ratio (null:
    not compared), which is a thin grey line.
    """
    return drawn(
        palette,
        height,
        [
            {
                "type": "bar",
                "x": days["day"].to_numpy(),
                "y": days["share_ratio"].to_numpy(),
                "width": COLUMN_MS,
                "marker": {
                    **_fill(area, False, palette),
                    "opacity": opacity(days),
                },
                "hovertemplate": "%{y:.2%}, %{x|%a %-d %b}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": days["day"].to_numpy(),
                "y": days["previous_share_ratio"].to_numpy(),
                "line": {"color": palette.comparison, "width": 1},
                "hovertemplate": "previous period %{y:.2%}<extra></extra>",
            },
        ],
        margin={"t": 12},
        x=day_axis(days),
        y={"rangemode": "tozero", **SHARE_TICKS, "ticklabelstandoff": 6},
        hovermode="x unified",
    )


def order() -> list[str]:
    """Areas from the bottom: effective, then what is lost in lifecycle order."""
    lost = [name for name in AREA_ORDER if name not in ("effective", "uninstrumented")]
    return ["effective", *lost]


def _columns(
    shares: pl.DataFrame, days: pl.DataFrame, palette: Palette
) -> Iterator[dict[str, Any]]:
    spine = days.select("day", "is_complete")
    parts = shares.partition_by("area", "is_recovery", as_dict=True)
    for area in order():
        for is_recovery in (False, True):
            part = parts.get((area, is_recovery))
            if part is None:
                continue
            share = spine.join(part, on="day", how="left", maintain_order="left")["share_ratio"]
            share = share.fill_null(0)  # plotly draws nothing above a bar without a number
            name = words.area(area) + (", after an interruption" if is_recovery else "")
            yield {
                "type": "bar",
                "name": words.figure(name),
                "x": spine["day"].to_numpy(),
                "y": share.to_numpy(),
                "width": COLUMN_MS,
                "marker": {**_fill(area, is_recovery, palette), "opacity": opacity(days)},
                "hovertemplate": f"{words.figure(name)}<br>%{{y:.2%}}, %{{x|%a %-d %b}}"
                "<extra></extra>",
            }


def _fill(area: str, is_recovery: bool, palette: Palette) -> dict[str, Any]:
    return {
        "color": palette.area(area),
        "line": {"color": translucent(palette.text, 0.25), "width": 0.5},
        "pattern": hatched(
            RECOVERY_PATTERN if is_recovery else AREA_PATTERN.get(area, ""), palette
        ),
    }


def _floor(shares: pl.DataFrame, target: float | None) -> float:
    is_effective = pl.col("area") == "effective"  # no row: nothing of the day was
    known = shares.drop_nulls("share_ratio").group_by("day")
    effective = known.agg(pl.col("share_ratio").filter(is_effective).sum())["share_ratio"]
    lowest = float(effective.to_numpy().min()) if effective.len() else 1.0
    return max(0.0, min(FLOOR, float(np.floor(lowest * 10) / 10), target or 1.0))
