"""ETT by day against its target: the large chart, and the small one of a team."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import plotly.graph_objects as go
import polars as pl
from numpy.typing import NDArray

from app import words
from app.charts.canvas import blank
from app.palette import Palette, translucent

Floats = NDArray[np.float64]
_FLOOR = 0.6
_DAY_MS = 86_400_000


def ett_by_day(
    days: pl.DataFrame, previous: pl.DataFrame, target: float | None, palette: Palette, height: int
) -> go.Figure:
    """ETT a day with its target, what is below it filled, the period before as a thin line.

    `days`: day, ett_ratio (null: no attempt), is_complete. `previous`: day (moved onto the days of
    `days`), ett_ratio. An incomplete day is hollow, on a dotted line.
    """
    figure = blank(palette, height, {"r": 92, "t": 16})
    complete = days.filter(pl.col("is_complete"))
    _comparison(figure, previous, palette)
    if target is not None:
        _shortfall(figure, complete, target, palette)
        _target_line(figure, days, target, palette, label=f"target {words.ratio(target, 0)}")
    _dotted_to_incomplete(figure, days, palette)
    _line(figure, complete, palette, width=2.25, marked=complete.height <= 35)
    figure.update_yaxes(
        range=_range([days, previous], target), tickformat=".0%", nticks=6, ticklabelstandoff=6
    )
    figure.update_xaxes(
        range=_padded(days),
        tickformat="%-d %b",
        nticks=8,
        dtick=_DAY_MS if days.height <= 8 else None,  # else a day would be named twice
        showline=True,
        ticklabelstandoff=4,
    )
    figure.update_layout(hovermode="x unified")
    return figure


def small_team(
    days: pl.DataFrame,
    fleet: pl.DataFrame,
    target: float | None,
    bounds: tuple[float, float],
    palette: Palette,
    height: int,
) -> go.Figure:
    """One team's ETT over the fleet's in grey; every team on the same axes (`bounds`)."""
    figure = blank(palette, height, {"l": 0, "r": 0, "t": 2, "b": 2})
    figure.add_trace(
        go.Scatter(
            x=fleet["day"].to_numpy(),
            y=fleet["ett_ratio"].to_numpy(),
            mode="lines",
            line={"color": palette.comparison, "width": 1},
            hoverinfo="skip",
        )
    )
    if target is not None:
        _target_line(figure, fleet, target, palette)
    _line(figure, days.filter(pl.col("is_complete")), palette, width=1.75, marked=days.height < 3)
    figure.update_yaxes(range=bounds, tickformat=".0%", tickvals=[], showgrid=False)
    figure.update_xaxes(range=_padded(fleet), tickvals=[], showline=True)
    return figure


def bounds(frames: Sequence[pl.DataFrame], target: float | None) -> tuple[float, float]:
    """Axis limits that just hold all of these ETT series and the target."""
    return max(0.0, min(_lowest(frames), target or 1.0) - 0.02), 1.0


def _range(frames: Sequence[pl.DataFrame], target: float | None) -> list[float]:
    """From 60 % to 100 %, lower where a day or the target is lower."""
    floor = min(_FLOOR, np.floor(_lowest(frames) * 10) / 10, target or 1.0)
    return [max(0.0, float(floor)), 1.005]


def _lowest(frames: Sequence[pl.DataFrame]) -> float:
    values = pl.concat([frame["ett_ratio"].cast(pl.Float64) for frame in frames]).drop_nulls()
    return float(values.to_numpy().min()) if values.len() else 1.0


def _padded(days: pl.DataFrame) -> list[date] | None:
    first, last = days["day"].min(), days["day"].max()
    if not isinstance(first, date) or not isinstance(last, date):
        return None
    return [first - timedelta(hours=12), last + timedelta(hours=12)]


def _line(
    figure: go.Figure, days: pl.DataFrame, palette: Palette, width: float, marked: bool
) -> None:
    figure.add_trace(
        go.Scatter(
            x=days["day"].to_numpy(),
            y=days["ett_ratio"].to_numpy(),
            name="ETT",
            mode="lines+markers" if marked else "lines",
            line={"color": palette.area("effective"), "width": width},
            marker={"size": 5},
            connectgaps=False,
            hovertemplate="ETT %{y:.1%}<extra></extra>",
        )
    )


def _dotted_to_incomplete(figure: go.Figure, days: pl.DataFrame, palette: Palette) -> None:
    incomplete = days.filter(~pl.col("is_complete") & pl.col("ett_ratio").is_not_null())
    if not incomplete.height:
        return
    before = days.filter(pl.col("is_complete")).tail(1)
    drawn = pl.concat([before, incomplete])
    colour = palette.area("effective")
    figure.add_trace(
        go.Scatter(
            x=drawn["day"].to_numpy(),
            y=drawn["ett_ratio"].to_numpy(),
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": "dot"},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=incomplete["day"].to_numpy(),
            y=incomplete["ett_ratio"].to_numpy(),
            name="incomplete day",
            mode="markers",
            marker={
                "size": 8,
                "color": palette.background,
                "line": {"color": colour, "width": 2},
            },
            hovertemplate="%{y:.1%}, incomplete day<extra></extra>",
        )
    )


def _comparison(figure: go.Figure, previous: pl.DataFrame, palette: Palette) -> None:
    if previous.height:
        figure.add_trace(
            go.Scatter(
                x=previous["day"].to_numpy(),
                y=previous["ett_ratio"].to_numpy(),
                name="previous period",
                mode="lines",
                line={"color": palette.comparison, "width": 1},
                hovertemplate="previous period %{y:.1%}<extra></extra>",
            )
        )


def _target_line(
    figure: go.Figure, days: pl.DataFrame, target: float, palette: Palette, label: str = ""
) -> None:
    figure.add_hline(y=target, line={"color": palette.text, "width": 1, "dash": "dash"})
    if label:
        figure.add_annotation(
            x=1,
            xref="paper",
            y=target,
            text=label,
            xanchor="left",
            xshift=6,
            showarrow=False,
            font={"size": 12, "color": palette.text},
        )


def _shortfall(figure: go.Figure, days: pl.DataFrame, target: float, palette: Palette) -> None:
    for x, y in _runs(days):
        x, y = with_crossings(x, y, target)
        figure.add_trace(
            go.Scatter(
                x=np.concatenate([x, x[::-1]]).astype("datetime64[ms]"),
                y=np.concatenate([np.minimum(y, target), np.full(len(y), target)]),
                mode="lines",
                line={"width": 0},
                fill="toself",
                fillcolor=translucent(palette.bad, 0.12),
                hoverinfo="skip",
            )
        )


def _runs(days: pl.DataFrame) -> list[tuple[Floats, Floats]]:
    """The unbroken stretches of at least two days with a value, x in Unix milliseconds."""
    x = days["day"].cast(pl.Datetime("ms")).to_physical().to_numpy().astype(np.float64)
    y = days["ett_ratio"].cast(pl.Float64).to_numpy().astype(np.float64)
    breaks = np.flatnonzero(np.isnan(y))
    stretches = [
        (part_x[~np.isnan(part_y)], part_y[~np.isnan(part_y)])
        for part_x, part_y in zip(np.split(x, breaks), np.split(y, breaks), strict=True)
    ]
    return [(part_x, part_y) for part_x, part_y in stretches if len(part_x) > 1]


def with_crossings(x: Floats, y: Floats, level: float) -> tuple[Floats, Floats]:
    """The same line with a point added wherever it crosses the level."""
    above = y > level
    crossed = np.flatnonzero(above[1:] != above[:-1])
    share = (level - y[crossed]) / (y[crossed + 1] - y[crossed])
    at = x[crossed] + share * (x[crossed + 1] - x[crossed])
    return np.insert(x, crossed + 1, at), np.insert(y, crossed + 1, level)
