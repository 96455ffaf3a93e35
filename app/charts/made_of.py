"""What a wait is made of: the median seconds of each start-up area by day, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, hatched
from app.charts.days import COLUMN_MS, day_axis, opacity
from app.palette import AREA_ORDER, RECOVERY_PATTERN, Palette, translucent


def made_of(
    areas: pl.DataFrame,
    days: pl.DataFrame,
    most: float,
    palette: Palette,
    height: int,
    *,
    is_recovery: bool,
) -> go.Figure:
    """Columns from `areas`: day, area, p50_seconds. `days`: day, is_complete of every day of the
    axis. `most`: seconds that the axis reaches to. Recoveries are hatched.
    """
    ticks = _ticks(most)
    return drawn(
        palette,
        height,
        _columns(areas, days, palette, is_recovery),
        margin={"t": 12},
        x=day_axis(days),
        y={
            "range": [0, most * 1.05],
            "tickvals": ticks,
            "ticktext": [words.duration(each) for each in ticks],
            "ticklabelstandoff": 6,
        },
        barmode="stack",
    )


def tallest(areas: pl.DataFrame) -> float:
    """The seconds of the tallest column of these areas."""
    totals = areas.group_by("day").agg(pl.col("p50_seconds").sum())["p50_seconds"]
    return float(totals.to_numpy().max()) if totals.len() else 0.0


def _columns(
    areas: pl.DataFrame, days: pl.DataFrame, palette: Palette, is_recovery: bool
) -> Iterator[dict[str, Any]]:
    parts = areas.partition_by("area", as_dict=True)
    for area in AREA_ORDER:
        part = parts.get((area,))
        if part is None:
            continue
        seconds = days.select("day").join(part, on="day", how="left", maintain_order="left")[
            "p50_seconds"
        ]
        yield {
            "type": "bar",
            "name": words.figure(words.area(area)),
            "x": days["day"].to_numpy(),
            "width": COLUMN_MS,
            "y": seconds.fill_null(0).to_numpy(),  # nothing is drawn above a bar without a number
            "text": [words.duration(each) for each in seconds],
            "textposition": "none",
            "marker": {
                "color": palette.area(area),
                "opacity": opacity(days),
                "line": {"color": translucent(palette.text, 0.25), "width": 0.5},
                "pattern": hatched(RECOVERY_PATTERN if is_recovery else "", palette),
            },
            "hovertemplate": f"{words.figure(words.area(area))}<br>%{{text}}, %{{x|%a %-d %b}}"
            "<extra></extra>",
        }


def _ticks(most: float) -> list[float]:
    step = next((each for each in (30, 60, 120, 300, 600, 1800, 3600) if most / each <= 6), 7200)
    return [float(step * place) for place in range(int(most / step) + 1)]
