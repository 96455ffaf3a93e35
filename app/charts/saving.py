"""What checkpoints cost: by day, by interval, and as measured beside as modelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import intervals, words
from app.charts.canvas import bars, drawn, hatched, named_rows
from app.charts.days import SHARE_TICKS, day_axis, told
from app.palette import AREA_PATTERN, Palette, translucent

SHORTEST, LONGEST = 60.0, 4 * 3600.0  # the axis of intervals, wider where a mark needs it
BAND: Final = 0.25
ROW: Final = 28
# an interval within this factor of the best has its text above the bottom of the curve, so high
# that the curve leaves room for it on a screen of 420 pixels
_NEAR, _CLEAR = 2.2, 1.35
_EDGE: Final = 0.85
_TICKS: Final = (10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclass(frozen=True, slots=True)
class Saving:
    """What the explorer shows: the three sliders, and the measured interval. In seconds."""

    blocked: float
    per_day: float
    interval: float
    measured: float | None

    @property
    def best(self) -> float:
        """The interval at which the model loses least."""
        return intervals.best_interval(self.blocked, self.per_day)

    @property
    def marked(self) -> tuple[float, float, float]:
        """The best, the chosen and the measured interval."""
        return self.best, self.interval, self.measured or self.interval

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last interval of the axis."""
        return min(SHORTEST, *self.marked), max(LONGEST, *self.marked)

    def wasted(self, interval: float) -> float:
        """The share of train-loop time that this interval loses."""
        return intervals.wasted_ratio(interval, self.blocked, self.per_day)


def costs_by_day(
    days: pl.DataFrame, previous: pl.DataFrame, unit: str, palette: Palette, height: int
) -> go.Figure:
    """Two lines of `days`: day, is_complete, unsaved_hours, blocked_hours; `previous` likewise.

    The period before, moved onto the same days, is a thin grey line of the same dash.
    """
    lines = (
        ("unsaved_hours", "unsaved", palette.area("unsaved"), "solid"),
        ("blocked_hours", "blocked", palette.text, "dash"),
    )
    shown = told(days)
    most = days.select(pl.max_horizontal("unsaved_hours", "blocked_hours").max()).item() or 0.0
    return drawn(
        palette,
        height,
        [
            *(
                _line(previous, column, f"previous {name}", palette.comparison, dash, 1.0, unit)
                for column, name, _, dash in lines
                if previous.height
            ),
            *(
                _line(shown, column, name, colour, dash, 2.25, unit)
                for column, name, colour, dash in lines
            ),
        ],
        margin={"t": 12, "r": 64},
        x=day_axis(days),
        y={
            "rangemode": "tozero",
            "nticks": 5,
            "tickformat": "~s" if most >= 1000 else "~g",
            "ticklabelstandoff": 6,
        },
        hovermode="x unified",
        annotations=_ends(shown, lines, palette),
    )


def explorer(saving: Saving, palette: Palette, height: int) -> go.Figure:
    """The share of train-loop time that each interval loses, with the best, chosen and measured."""
    marked = saving.marked
    first, last = saving.ends
    x = np.geomspace(first, last, 240)
    unsaved = np.array([intervals.unsaved_ratio(each, saving.per_day) for each in x])
    blocked = np.array([intervals.blocked_ratio(each, saving.blocked) for each in x])
    both = np.minimum(1.0, unsaved + blocked)
    top = min(1.0, 1.3 * max(2.4 * saving.wasted(saving.best), *map(saving.wasted, marked)))
    best, chosen = saving.best, saving.interval
    traces = [
        _curve(x, unsaved, palette.area("unsaved"), "solid", 1.75, "discarded by interruptions"),
        _curve(x, blocked, palette.muted, "dash", 1.75, "blocked by saves"),
        _curve(x, both, palette.text, "solid", 2.75, "both together"),
        {
            "type": "scatter",
            "name": "marks",
            "x": np.array([best, chosen]),
            "y": np.array([saving.wasted(best), saving.wasted(chosen)]),
            "mode": "markers",
            "marker": {
                "size": [11, 13],
                "symbol": ["diamond", "circle"],
                "color": [palette.good, palette.area("effective")],
                "line": {"color": palette.background, "width": 2},
            },
            "hoverinfo": "skip",
            "cliponaxis": False,
        },
    ]
    return drawn(
        palette,
        height,
        traces,
        margin={"t": 44},
        x={
            "type": "log",
            "range": [np.log10(first), np.log10(last)],
            "tickvals": list(_TICKS),
            "ticktext": [words.duration(tick) for tick in _TICKS],
            "showline": True,
            "ticklabelstandoff": 4,
            "title": {"text": "checkpoint interval", "font": {"size": 12}, "standoff": 6},
        },
        y={"range": [0, top], **SHARE_TICKS, "ticklabelstandoff": 6},
        hovermode="x unified",
        shapes=_lines(saving, palette),
        annotations=[*_marks(saving, palette), *_names(x, unsaved, blocked, palette)],
    )


def agreement(rows: pl.DataFrame, palette: Palette) -> go.Figure:
    """Measured beside modelled: bars of `rows`: area, kind (measured or modelled), hours, text.

    Hours that are null have their text and no length.
    """
    labels = [f"{words.area(area)}, {kind}" for area, kind in rows.select("area", "kind").rows()]
    hours = rows["hours"].fill_null(0.0).to_numpy()
    return drawn(
        palette,
        ROW * max(rows.height, 1) + 12,
        [
            bars(
                hours,
                rows["text"].to_list(),
                {
                    "color": [
                        translucent(palette.area(area), 1.0 if kind == "measured" else 0.35)
                        for area, kind in rows.select("area", "kind").rows()
                    ],
                    "pattern": hatched(
                        [AREA_PATTERN.get(area, "") for area in rows["area"]], palette, ink=0.5
                    ),
                },
                palette,
            )
        ],
        margin={"t": 4, "b": 4},
        x={"visible": False, "range": [0, (float(hours.max()) if rows.height else 1.0) * 1.3]},
        y=named_rows(labels, palette),
        bargap=0.25,
        uniformtext={"mode": False},
    )


def interval_bar(measured: float, best: float, palette: Palette) -> str:
    """A small picture for a table, as a data URI: a dot at the interval, a tick at the best."""
    width, height, margin = 180, 24, 8
    low, high = np.log(10.0), np.log(86400.0)

    def at(seconds: float) -> float:
        share = (np.log(min(max(seconds, 10.0), 86400.0)) - low) / (high - low)
        return round(margin + float(share) * (width - 2 * margin), 1)

    dot, tick = at(measured), at(best)
    return "data:image/svg+xml;utf8," + quote(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
        f'<line x1="{margin}" x2="{width - margin}" y1="12" y2="12" stroke="{palette.grid}" '
        f'stroke-width="2"/><line x1="{dot}" x2="{tick}" y1="12" y2="12" '
        f'stroke="{palette.comparison}" stroke-width="2"/>'
        f'<line x1="{tick}" x2="{tick}" y1="4" y2="20" stroke="{palette.good}" stroke-width="3"/>'
        f'<circle cx="{dot}" cy="12" r="5" fill="{palette.area("effective")}"/></svg>'
    )


def _line(
    days: pl.DataFrame, column: str, name: str, colour: str, dash: str, width: float, unit: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "x": days["day"].to_numpy(),
        "y": days[column].to_numpy(),
        # a day between two without any is a dot, or nothing would be seen of it
        "mode": "lines+markers" if width > 1 or days.height < 2 else "lines",
        "marker": {"size": 4, "color": colour},
        "line": {"color": colour, "width": width, "dash": dash},
        "connectgaps": False,
        "hovertemplate": f"{name}: %{{y:,.2~f}} {unit}<extra></extra>",
    }


def _ends(
    days: pl.DataFrame, lines: tuple[tuple[str, str, str, str], ...], palette: Palette
) -> list[dict[str, Any]]:
    """The name of each line at its end, pushed apart where they end close to one another."""
    last = days.drop_nulls([column for column, *_ in lines]).tail(1)
    if last.is_empty():
        return []
    row = last.row(0, named=True)
    named = sorted(lines, key=lambda line: row[line[0]])
    return [
        {
            "x": row["day"],
            "y": row[column],
            "text": name,
            "xanchor": "left",
            "xshift": 6,
            "yshift": 16 if place else 2,  # the lower one may end on the axis
            "showarrow": False,
            "font": {"size": 12, "color": palette.text},  # the colour of an area is too dark a text
        }
        for place, (column, name, *_) in enumerate(named)
    ]


def _curve(
    x: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    colour: str,
    dash: str,
    width: float,
    name: str,
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "x": x,
        "y": y,
        "mode": "lines",
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": f"{name}: %{{y:.2%}}<extra></extra>",
    }


def _lines(saving: Saving, palette: Palette) -> list[dict[str, Any]]:
    over = {"yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    shapes: list[dict[str, Any]] = [
        {
            "type": "rect",
            **over,
            "x0": saving.best * (1 - BAND),
            "x1": saving.best * (1 + BAND),
            "fillcolor": translucent(palette.good, 0.12),
            "line": {"width": 0},
        },
        {
            "type": "line",
            **over,
            "x0": saving.best,
            "x1": saving.best,
            "line": {"color": palette.good, "width": 1, "dash": "dash"},
        },
    ]
    if saving.measured is not None:
        shapes.append(
            {
                "type": "line",
                **over,
                "x0": saving.measured,
                "x1": saving.measured,
                "line": {"color": palette.muted, "width": 1, "dash": "dot"},
            }
        )
    return shapes


def _marks(saving: Saving, palette: Palette) -> list[dict[str, Any]]:
    best = f"best {words.duration(saving.best)}: {words.ratio(saving.wasted(saving.best), 2)}"
    marks = [_above(saving, saving.best, best, 24, palette.good)]
    if saving.measured is not None:
        measured = f"measured {words.duration(saving.measured)}"
        marks.append(_above(saving, saving.measured, measured, 6, palette.muted))
    # the lines of best and measured end at this text, wherever a screen's width puts it
    ground = {"bgcolor": translucent(palette.background, 0.85), "borderpad": 1}
    chosen = {
        **_chosen(saving),
        **ground,
        "arrowcolor": palette.muted,
        "font": {"size": 13, "color": palette.text},
    }
    return [*marks, chosen]


def _chosen(saving: Saving) -> dict[str, Any]:
    """What the chosen interval loses, inside of the curve: above its flat bottom or beside it."""
    chosen, best = saving.interval, saving.best
    lost = saving.wasted(chosen)
    placed: dict[str, Any]
    if best / _NEAR < chosen < best * _NEAR:
        # clear of the curve on both sides, on a narrow screen too; a line leads to its dot
        placed = {
            "x": np.log10(chosen),
            "y": lost,
            "axref": "x",
            "ayref": "y",
            "ax": np.log10(best),
            "ay": max(_CLEAR * saving.wasted(best), lost),
            "yanchor": "bottom",
            "xanchor": "center",
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 1,
            "standoff": 5,
        }
    else:
        is_long = chosen > best
        placed = {
            "x": np.log10(chosen),
            "y": lost,
            "yshift": 10,
            "xanchor": "right" if is_long else "left",
            "xshift": -12 if is_long else 12,
            "showarrow": False,
        }
    text = f"<b>{words.duration(chosen)}: {words.ratio(lost, 2)}</b>"
    return {**placed, "text": text}


def _above(saving: Saving, at: float, text: str, pixels: int, colour: str) -> dict[str, Any]:
    first, last = saving.ends
    share = np.log(at / first) / np.log(last / first)
    return {
        "x": np.log10(at),
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "yshift": pixels - 6,
        "text": text,
        # near an end of the axis a text in the middle would be cut
        "xanchor": "right" if share > _EDGE else "left" if share < 1 - _EDGE else "center",
        "showarrow": False,
        "font": {"size": 12, "color": colour},
    }


def _names(
    x: np.ndarray[Any, Any],
    unsaved: np.ndarray[Any, Any],
    blocked: np.ndarray[Any, Any],
    palette: Palette,
) -> list[dict[str, Any]]:
    """The names of the two curves, each on the side where it runs low."""
    rows: list[Mapping[str, Any]] = [
        {
            "x": np.log10(x[0]),
            "y": unsaved[0],
            "text": "discarded by interruptions",
            "xanchor": "left",
            "xshift": 4,
            "yshift": 40,
            "font": {"size": 12, "color": palette.text},
        },
        {
            "x": np.log10(x[-1]),
            "y": blocked[-1],
            "text": "blocked by saves",
            "xanchor": "right",
            "yshift": 40,
            "font": {"size": 12, "color": palette.muted},
        },
    ]
    return [{**row, "showarrow": False} for row in rows]
