"""ETT by day against its target, and the axis that the small figures of teams share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl
from numpy.typing import NDArray

from app.charts.canvas import drawn
from app.charts.days import day_axis, dots, stretches
from app.charts.marks import TARGET_MARGIN, regressions, target_line
from app.palette import Palette, translucent

Floats = NDArray[np.float64]
_FLOOR = 0.6
_HALF = 0.5


def ett_by_day(
    days: pl.DataFrame,
    previous: pl.DataFrame,
    marks: pl.DataFrame,
    target: float | None,
    palette: Palette,
    height: int,
) -> go.Figure:
    """ETT a day with its target, what is below it filled, the period before as a thin line.

    `days`: day, ett_ratio (null: no attempt), is_complete. `previous`: day (moved onto the days of
    `days`), ett_ratio. `marks`: day, text of what got worse. An incomplete day is hollow, on a
    dotted line.
    """
    complete = days.filter(pl.col("is_complete"))
    limits = _range([days, previous], target)
    return drawn(
        palette,
        height,
        [
            *_comparison(previous, palette),
            *(_shortfall(complete, target, palette) if target is not None else ()),
            *_dotted_to_incomplete(days, palette),
            _line(complete, palette, width=2.25, marked=complete.height <= 35),
            regressions(marks, limits[0], palette),
        ],
        margin={"r": TARGET_MARGIN, "t": 16},
        x=day_axis(days),
        y={"range": list(limits), "tickformat": ".0%", "nticks": 6, "ticklabelstandoff": 6},
        hovermode="x unified",
        **target_line(target, palette),
    )


def bounds(
    fleet: pl.DataFrame, teams: Sequence[pl.DataFrame], targets: Sequence[float | None]
) -> tuple[float, float]:
    """Axis limits that hold the fleet's ETT, the targets, each team's usual day, and any day of a
    team down to a half.

    A day on which a small team trained next to nothing would else flatten every figure.
    """
    aims = [target for target in targets if target is not None]
    usual = [_middle(team) for team in teams]
    floor = min(_lowest([fleet]), *aims, *usual, max(_lowest([fleet, *teams]), _HALF))
    return max(0.0, floor - 0.02), 1.0


def _range(frames: Sequence[pl.DataFrame], target: float | None) -> tuple[float, float]:
    """From 60 % to 100 %, lower where a day or the target is lower."""
    floor = min(_FLOOR, np.floor(_lowest(frames) * 10) / 10, target or 1.0)
    return max(0.0, float(floor)), 1.005


def _lowest(frames: Sequence[pl.DataFrame]) -> float:
    values = pl.concat([frame["ett_ratio"].cast(pl.Float64) for frame in frames]).drop_nulls()
    return float(values.to_numpy().min()) if values.len() else 1.0


def _middle(team: pl.DataFrame) -> float:
    middle = team["ett_ratio"].cast(pl.Float64).median()
    return middle if isinstance(middle, float) else 1.0


def _line(days: pl.DataFrame, palette: Palette, width: float, marked: bool) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": days["day"].to_numpy(),
        "y": days["ett_ratio"].to_numpy(),
        "name": "ETT",
        **dots(days["ett_ratio"], 5, is_marked=marked),
        "line": {"color": palette.area("effective"), "width": width},
        "connectgaps": False,
        "hovertemplate": "ETT %{y:.1%}<extra></extra>",
    }


def _dotted_to_incomplete(days: pl.DataFrame, palette: Palette) -> Iterator[dict[str, Any]]:
    incomplete = days.filter(~pl.col("is_complete") & pl.col("ett_ratio").is_not_null())
    if not incomplete.height:
        return
    drawn_days = pl.concat([days.filter(pl.col("is_complete")).tail(1), incomplete])
    colour = palette.area("effective")
    yield {
        "type": "scatter",
        "x": drawn_days["day"].to_numpy(),
        "y": drawn_days["ett_ratio"].to_numpy(),
        "mode": "lines",
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }
    yield {
        "type": "scatter",
        "x": incomplete["day"].to_numpy(),
        "y": incomplete["ett_ratio"].to_numpy(),
        "name": "incomplete day",
        "mode": "markers",
        "marker": {
            "size": 8,
            "color": palette.background,
            "line": {"color": colour, "width": 2},
        },
        "hovertemplate": "%{y:.1%}, incomplete day<extra></extra>",
    }


def _comparison(previous: pl.DataFrame, palette: Palette) -> Iterator[dict[str, Any]]:
    if previous.height:
        yield {
            "type": "scatter",
            "x": previous["day"].to_numpy(),
            "y": previous["ett_ratio"].to_numpy(),
            "name": "previous period",
            "mode": "lines",
            "line": {"color": palette.comparison, "width": 1},
            "hovertemplate": "previous period %{y:.1%}<extra></extra>",
        }


def _shortfall(days: pl.DataFrame, target: float, palette: Palette) -> Iterator[dict[str, Any]]:
    for part in stretches(days, "ett_ratio"):
        at = part["day"].cast(pl.Datetime("ms")).to_physical().to_numpy().astype(np.float64)
        x, y = with_crossings(at, part["ett_ratio"].cast(pl.Float64).to_numpy(), target)
        yield {
            "type": "scatter",
            "x": np.concatenate([x, x[::-1]]).astype("datetime64[ms]"),
            "y": np.concatenate([np.minimum(y, target), np.full(len(y), target)]),
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": translucent(palette.bad, 0.12),
            "hoverinfo": "skip",
        }


def with_crossings(x: Floats, y: Floats, level: float) -> tuple[Floats, Floats]:
    """The same line with a point added wherever it crosses the level."""
    above = y > level
    crossed = np.flatnonzero(above[1:] != above[:-1])
    share = (level - y[crossed]) / (y[crossed + 1] - y[crossed])
    at = x[crossed] + share * (x[crossed + 1] - x[crossed])
    return np.insert(x, crossed + 1, at), np.insert(y, crossed + 1, level)
