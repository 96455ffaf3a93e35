"""A regression as it is seen: its series with the band of usual days, the days before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import regression_words, words
from app.charts.canvas import axis, drawn, hatched
from app.charts.causes import Shade
from app.charts.days import COLUMN_MS, SHARE_TICKS, day_axis, midnight, stretches
from app.palette import Palette, translucent

_LANE: Final = (0.0, 0.17)
_SERIES: Final = (0.25, 1.0)
_STEPS: Final = (
    1,
    2,
    5,
    10,
    20,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    14400,
    43200,
    86400,
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A day that is ruled over the series, and what is written on top of it."""

    day: date
    text: str
    is_first: bool = False  # the day of the change: a full line
    is_left: bool = False  # the text stands to the left of the line


def series(
    points: pl.DataFrame,
    own: str,
    metric: str,
    marks: Sequence[Mark],
    changes: pl.DataFrame,
    stops: tuple[pl.DataFrame, Sequence[Shade]],
    palette: Palette,
    height: int,
) -> go.Figure:
    """Lines of `points` (series_team, day, observed, low, high): the team `own` with its band,
    others in grey. `changes`: day, name, description, to mark on top. `stops`: day, attribution,
    failure_domain, interruptions, drawn as a lane of columns below, and how each is drawn.
    """
    told = _every_day(points, points.filter(pl.col("series_team") == own))
    low, high = _limits(told)
    return drawn(
        palette,
        height,
        [
            *_others(points, own, metric, palette),
            *_band(told, metric, palette),
            _line(told, own, metric, palette),
            _rolled_out(changes, low, palette),
            *_lane(*stops, palette),
        ],
        margin={"t": 26, "r": 12},
        x={**day_axis(told), "dtick": None, "anchor": "y2", "domain": [0, 1]},
        y={
            "domain": list(_SERIES),
            "range": [low, high],
            "ticklabelstandoff": 6,
            **_ticks(metric, low, high),
        },
        yaxis2=axis(
            palette,
            domain=list(_LANE),
            rangemode="tozero",
            nticks=3,
            tickformat=",d",
            gridcolor=palette.grid,
            ticklabelstandoff=6,
        ),
        annotations=[*_notes(marks, palette), _lane_title(palette)],
        shapes=[_ruled(mark, palette) for mark in marks],
        barmode="stack",
        hovermode="x unified",
    )


def days_apart(
    before: pl.DataFrame, after: pl.DataFrame, metric: str, palette: Palette
) -> go.Figure:
    """A dot a day from two frames with `day` and `observed`; p50 and p90 of each are ticked."""
    groups = [("before", before), ("after", after)]
    values = np.concatenate([frame["observed"].to_numpy() for _, frame in groups])
    low, high = _padded(float(values.min()), float(values.max()))
    traces: list[Mapping[str, Any]] = []
    notes = []
    for row, (name, frame) in enumerate(groups):
        colour = palette.comparison if row == 0 else palette.area("effective")
        told = np.sort(frame["observed"].to_numpy())
        traces.append(_dots(frame, row, name, metric, colour))
        for share in (50, 90):
            if len(told) == 0:
                continue
            at = float(told[-(-share * len(told) // 100) - 1])  # nearest rank, as everywhere
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": [at, at],
                    "y": [row - 0.32, row + 0.32],
                    "line": {"color": palette.text, "width": 2 if share == 50 else 1},
                    "hoverinfo": "skip",
                }
            )
            notes.append(
                {
                    "x": at,
                    "y": row - 0.32,
                    "text": f"p{share}",
                    "yanchor": "bottom",
                    "xanchor": "right" if share == 50 else "left",
                    "showarrow": False,
                    "font": {"size": 11, "color": palette.muted},
                }
            )
    return drawn(
        palette,
        190,
        traces,
        margin={"t": 4},
        x={"range": [low, high], "showgrid": True, "gridcolor": palette.grid}
        | _ticks(metric, low, high),
        y={
            "range": [1.6, -0.65],
            "tickvals": [0, 1],
            "ticktext": [f"{name}, {words.many(frame.height, 'day')}" for name, frame in groups],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        annotations=notes,
    )


def split(metric: str, speed: float, mix: float, palette: Palette) -> go.Figure:
    """Two bars that sum to the change of the mean: the same work, and other work."""
    rows = [("same work", speed, ""), ("other work", mix, "/")]
    most = max(abs(speed), abs(mix)) or 1.0
    return drawn(
        palette,
        116,
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": [place],
                "x": [amount],
                "width": 0.6,
                "text": [regression_words.difference(metric, amount)],
                "textposition": "outside",
                "cliponaxis": False,
                "textfont": {"size": 13, "color": palette.text},
                "hovertext": [f"{name} {regression_words.difference(metric, amount)}"],
                "hoverinfo": "text",
                "marker": {
                    "color": palette.area("effective") if not hatch else palette.comparison,
                    "line": {"color": translucent(palette.text, 0.4), "width": 1},
                    "pattern": hatched(hatch, palette),
                },
            }
            for place, (name, amount, hatch) in enumerate(rows)
        ],
        margin={"t": 4, "b": 4},
        x={
            "range": [
                -most * 1.8 if min(speed, mix) < 0 else 0,
                most * 1.8 if max(speed, mix) > 0 else 0,
            ],
            "visible": False,
        },
        y={
            "range": [1.5, -0.5],
            "tickvals": [0, 1],
            "ticktext": [name for name, _, _ in rows],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        uniformtext={"mode": False},
        shapes=[
            {
                "type": "line",
                "x0": 0,
                "x1": 0,
                "y0": -0.5,
                "y1": 1.5,
                "line": {"color": palette.muted, "width": 1},
            }
        ],
    )


def _every_day(points: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """The team's own points with an empty row for each day without one."""
    first, last = points["day"].min(), points["day"].max()
    if not isinstance(first, date) or not isinstance(last, date):
        return own
    spine = pl.DataFrame({"day": pl.date_range(first, last, eager=True)})
    return spine.join(own, on="day", how="left", maintain_order="left")


def _limits(told: pl.DataFrame) -> tuple[float, float]:
    """The axis holds every day of the team and its band, but no band without end."""
    values = told["observed"].drop_nulls().to_numpy()
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = max(high - low, abs(high) * 0.1, 1e-9)
    bands = told.select(pl.col("low").min(), pl.col("high").max()).row(0)
    least = low if bands[0] is None else min(low, max(float(bands[0]), low - 0.5 * room))
    most = high if bands[1] is None else max(high, min(float(bands[1]), high + 0.5 * room))
    return _padded(least, most)


def _padded(low: float, high: float) -> tuple[float, float]:
    room = 0.08 * (high - low) or abs(high) * 0.1 or 1.0
    floor = low - room
    return (0.0 if low >= 0 > floor else floor), high + room


def _ticks(metric: str, low: float, high: float) -> dict[str, Any]:
    if regression_words.is_ratio(metric):
        return dict(SHARE_TICKS)
    if not regression_words.is_time(metric) or high - low < 5:
        return {"nticks": 6}
    step = next((each for each in _STEPS if (high - low) / each <= 6), 172800)
    ticks = [each * step for each in range(int(low // step) + 1, int(high // step) + 1)]
    if low == 0:
        ticks = [0, *ticks]
    return {"tickvals": ticks, "ticktext": [words.duration(each) for each in ticks]}


def _others(
    points: pl.DataFrame, own: str, metric: str, palette: Palette
) -> Iterator[dict[str, Any]]:
    others = points.filter(pl.col("series_team") != own)
    for part in others.partition_by("series_team", maintain_order=True):
        yield {
            "type": "scatter",
            "mode": "lines",
            "name": words.figure(part["series_team"][0], 40),
            "x": part["day"].to_numpy(),
            "y": part["observed"].to_numpy(),
            "line": {"color": translucent(palette.comparison, 0.45), "width": 1},
            "hoverinfo": "skip",
        }


def _band(told: pl.DataFrame, metric: str, palette: Palette) -> Iterator[dict[str, Any]]:
    for part in stretches(told, "low", "high"):
        days = part["day"].to_numpy()
        yield {
            "type": "scatter",
            "x": np.concatenate([days, days[::-1]]),
            "y": np.concatenate([part["low"].to_numpy(), part["high"].to_numpy()[::-1]]),
            "mode": "lines",
            "line": {"width": 0},
            "fill": "toself",
            "fillcolor": translucent(palette.area("effective"), 0.14),
            "hoverinfo": "skip",
        }
    yield {
        "type": "scatter",
        "mode": "lines",
        "x": told["day"].to_numpy(),
        "y": told["expected"].to_numpy(),
        "line": {"color": palette.area("effective"), "width": 1, "dash": "dash"},
        "connectgaps": False,
        "text": [
            f"{regression_words.plain(metric, row['expected'])}, usually "
            f"{regression_words.plain(metric, row['low'])} to "
            f"{regression_words.plain(metric, row['high'])}"
            for row in told.iter_rows(named=True)
        ],
        "hovertemplate": "expected %{text}<extra></extra>",
    }


def _line(told: pl.DataFrame, own: str, metric: str, palette: Palette) -> dict[str, Any]:
    name = words.figure(regression_words.whose(own), 40)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": told["day"].to_numpy(),
        "y": told["observed"].to_numpy(),
        "line": {"color": palette.text, "width": 1.5},
        "marker": {"size": 5, "color": palette.text},
        "connectgaps": False,
        "text": [
            f"{regression_words.plain(metric, row['observed'])}, "
            f"{words.many(row['attempts'] or 0, 'attempt')}"
            for row in told.iter_rows(named=True)
        ],
        "hovertemplate": f"{name} %{{text}}<extra></extra>",
    }


def _rolled_out(changes: pl.DataFrame, y: float, palette: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "rolled out",
        "x": changes["day"].to_numpy(),
        "y": [y] * changes.height,
        "marker": {
            "symbol": "diamond",
            "size": 11,
            "color": palette.area("trainer_init"),
            "line": {"color": palette.background, "width": 1},
        },
        "cliponaxis": False,
        "text": [
            words.figure(
                f"{row['name']}: {row['description']}" if row["description"] else row["name"], 160
            )
            for row in changes.iter_rows(named=True)
        ],
        "hovertemplate": "rolled out: %{text}<extra></extra>",
    }


def _lane(
    stops: pl.DataFrame, shades: Iterable[Shade], palette: Palette
) -> Iterator[dict[str, Any]]:
    for shade in shades:
        part = stops.filter(
            pl.col("attribution") == shade.attribution, pl.col("failure_domain") == shade.domain
        )
        yield {
            "type": "bar",
            "x": part["day"].to_numpy(),
            "y": part["interruptions"].to_numpy(),
            "width": COLUMN_MS,
            "yaxis": "y2",
            "name": words.figure(shade.domain),
            "marker": {
                "color": shade.fill,
                "line": {"color": palette.background, "width": 0.5},
                "pattern": hatched(shade.pattern, palette),
            },
            "hovertemplate": f"{words.figure(shade.domain)}, {words.figure(shade.attribution)}: "
            "%{y:,.0f}<extra></extra>",
        }


def _ruled(mark: Mark, palette: Palette) -> dict[str, Any]:
    at = _noon_before(mark.day) if mark.is_first else midnight(mark.day)
    return {
        "type": "line",
        "x0": at,
        "x1": at,
        "yref": "paper",
        "y0": 0,
        "y1": 1.0,
        "line": {
            "color": palette.bad if mark.is_first else palette.muted,
            "width": 2 if mark.is_first else 1,
            "dash": "solid" if mark.is_first else "dot",
        },
    }


def _notes(marks: Sequence[Mark], palette: Palette) -> Iterator[dict[str, Any]]:
    for mark in marks:
        yield {
            "x": _noon_before(mark.day) if mark.is_first else midnight(mark.day),
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "xanchor": "right" if mark.is_left else "left",
            "text": words.figure(mark.text),
            "showarrow": False,
            "font": {"size": 12, "color": palette.bad if mark.is_first else palette.muted},
        }


def _lane_title(palette: Palette) -> dict[str, Any]:
    return {
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": _LANE[1],
        "yref": "paper",
        "yanchor": "bottom",
        "text": "interruptions a day",
        "showarrow": False,
        "font": {"size": 12, "color": palette.muted},
    }


def _dots(frame: pl.DataFrame, row: int, name: str, metric: str, colour: str) -> dict[str, Any]:
    # a fixed scatter: the same days are drawn at the same heights each time
    heights = row + ((np.arange(frame.height) * 0.618) % 1 - 0.5) * 0.4
    return {
        "type": "scatter",
        "mode": "markers",
        "x": frame["observed"].to_numpy(),
        "y": heights,
        "marker": {"size": 7, "color": translucent(colour, 0.6)},
        "hovertext": [
            f"{name}, {words.day(each['day'])}: "
            f"{regression_words.plain(metric, each['observed'])}, "
            f"{words.many(each['attempts'], 'attempt')}"
            for each in frame.iter_rows(named=True)
        ],
        "hoverinfo": "text",
    }


def _noon_before(day: date) -> datetime:
    return midnight(day) - timedelta(hours=12)
