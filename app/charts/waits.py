"""Waits for a first batch: by day, how they are spread, and by the size of the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn
from app.charts.days import day_axis, dots, duration_axis, few_days, stretches
from app.charts.marks import regressions
from app.palette import Palette, translucent

_AREA: Final = "trainer_init"  # start-up is warm
MINUTE, TWO_HOURS = 60.0, 7200.0
SHORTEST: Final = 0.1  # seconds: what took less, or no time, stands here on a logarithmic axis


def waits_by_day(
    days: pl.DataFrame,
    marks: pl.DataFrame,
    limits: tuple[float, float],
    palette: Palette,
    height: int,
) -> go.Figure:
    """The p50 a day as a line, up to the p90 as a band, on a logarithmic axis of these limits.

    `days`: day, is_complete, p50_seconds, p90_seconds, previous_p50_seconds (a thin grey line);
    null: nobody waited. `marks`: day, text of what got worse. What took less than SHORTEST is drawn
    there.
    """
    return drawn(
        palette,
        height,
        [
            *_bands(days, palette),
            _line(days, "previous_p50_seconds", palette.comparison, 1, "previous p50"),
            _line(days.filter("is_complete"), "p50_seconds", palette.area(_AREA), 2.25, "p50"),
            _tops(days.filter("is_complete"), palette),
            _hollow(days, "p50_seconds", palette),
            regressions(marks, max(limits[0], SHORTEST), palette),
        ],
        margin={"t": 12},
        x=day_axis(days),
        y=duration_axis(*limits),
        hovermode="x unified",
    )


def wait_curves(
    now: pl.DataFrame,
    before: pl.DataFrame,
    ticked: dict[str, float | None],
    palette: Palette,
    height: int,
) -> go.Figure:
    """Which share of waits was over after how long: `now`, and `before` as a thin grey line.

    Both: up_to_seconds, share_ratio, in order. `ticked`: two waits to rule and name, the shorter
    first, in seconds. What took less than SHORTEST is drawn there.
    """
    known = {name: value for name, value in ticked.items() if value is not None}
    places = [max(value, SHORTEST) for value in known.values()]
    most = max([TWO_HOURS, *places])
    least = min([MINUTE, *places])
    return drawn(
        palette,
        height,
        [
            _curve(before, palette.comparison, 1, "previous period"),
            _curve(now, palette.area(_AREA), 2.25, "now"),
        ],
        margin={"t": 20},
        x={**duration_axis(least, most), "showline": True},
        y={"range": [0, 1.01], "tickformat": ".0%", "nticks": 6, "ticklabelstandoff": 6},
        shapes=[
            {
                "type": "line",
                "x0": value,
                "x1": value,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": palette.text, "width": 1, "dash": "dot"},
            }
            for value in places
        ],
        annotations=[
            {
                # an annotation on a logarithmic axis stands at the log
                "x": float(np.log10(places[place])),
                "yref": "paper",
                "y": 1,
                "yanchor": "bottom",
                "xanchor": "right" if place == 0 else "left",
                "xshift": -2 if place == 0 else 2,
                "text": f"{name} {words.duration(value)}",
                "showarrow": False,
                "font": {"size": 12, "color": palette.text},
            }
            for place, (name, value) in enumerate(known.items())
        ],
    )


def waits_of_size(
    days: pl.DataFrame,
    column: str,
    spine: pl.DataFrame,
    limits: tuple[float, float],
    palette: Palette,
    height: int,
) -> go.Figure:
    """One size's `column` by day, small; every size on the axes of `spine` (day, is_complete) and
    `limits`.
    """
    joined = spine.join(days, on="day", how="left", maintain_order="left")
    axis = duration_axis(*limits)
    return drawn(
        palette,
        height,
        [
            _line(joined, f"previous_{column}", palette.comparison, 1, "previous p50"),
            _line(joined.filter("is_complete"), column, palette.area(_AREA), 1.75, "p50"),
            _hollow(joined, column, palette),
        ],
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        x=few_days(spine, 3),
        y={**axis, "nticks": 3},
        hovermode="x unified",
    )


def _bands(days: pl.DataFrame, palette: Palette) -> Iterator[dict[str, Any]]:
    whole = days.filter("is_complete")
    for part in stretches(whole, "p50_seconds", "p90_seconds"):
        day = part["day"].to_numpy()
        yield {
            "type": "scatter",
            "x": np.concatenate([day, day[::-1]]),
            "y": np.concatenate(
                [_drawable(part["p90_seconds"]), _drawable(part["p50_seconds"])[::-1]]
            ),
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": translucent(palette.area(_AREA), 0.16),
            "hoverinfo": "skip",
        }


def _drawable(seconds: pl.Series) -> np.ndarray[Any, Any]:
    """These on a logarithmic axis, which has no place for none: SHORTEST at the least."""
    return seconds.cast(pl.Float64).clip(SHORTEST).to_numpy()


def _line(days: pl.DataFrame, column: str, colour: str, width: float, name: str) -> dict[str, Any]:
    seconds = days[column].to_list()
    return {
        "type": "scatter",
        "x": days["day"].to_numpy(),
        "y": _drawable(days[column]),
        "name": name,
        **dots(days[column], 4 if width < 2 else 5, is_marked=width > 1 and days.height <= 35),
        "line": {"color": colour, "width": width},
        "connectgaps": False,
        "text": [words.duration(each) for each in seconds],
        "hovertemplate": f"{name} %{{text}}<extra></extra>",
    }


def _tops(days: pl.DataFrame, palette: Palette) -> dict[str, Any]:
    """The p90 as words under the pointer; its line is the edge of the band."""
    return {
        **_line(days, "p90_seconds", translucent(palette.area(_AREA), 0.4), 1, "p90"),
        "mode": "lines",
    }


def _hollow(days: pl.DataFrame, column: str, palette: Palette) -> dict[str, Any]:
    part = days.filter(~pl.col("is_complete") & pl.col(column).is_not_null())
    return {
        **_line(part, column, palette.area(_AREA), 2, "p50 of an incomplete day"),
        "mode": "markers",
        "cliponaxis": False,  # whole also where it is the longest
        "marker": {
            "size": 8,
            "color": palette.background,
            "line": {"color": palette.area(_AREA), "width": 2},
        },
    }


def _curve(waits: pl.DataFrame, colour: str, width: float, name: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": _drawable(waits["up_to_seconds"]),
        "y": waits["share_ratio"].to_numpy(),
        "name": name,
        "mode": "lines" if waits.height > 1 else "markers",
        "line": {"color": colour, "width": width, "shape": "hv"},
        "marker": {"color": colour},
        "text": [words.duration(each) for each in waits["up_to_seconds"]],
        "hovertemplate": f"{name}: %{{y:.0%}} within %{{text}}<extra></extra>",
    }
