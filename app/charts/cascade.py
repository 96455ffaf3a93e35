"""Where the time went: everything on top, each area taking its part, effective last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, hatched
from app.palette import (
    AREA_ORDER,
    AREA_PATTERN,
    RECOVERY_PATTERN,
    Palette,
    translucent,
)

ROW: Final = 27
_CUT: Final = 0.5
_LABEL_SHARE: Final = 0.35  # of the width, which a label beside a bar needs


def cascade(areas: pl.DataFrame, palette: Palette, top: str, top_text: str) -> go.Figure:
    """Horizontal bars from `areas`: area, is_recovery, amount, text (the amount in words), and
    label (one an area, drawn beside its bar).

    The bar of everything is called `top` and says `top_text`. Where little is lost, the
    long bars are cut at the left so that the short ones can be compared; a gap shows it. A click
    gives the area as its customdata.
    """
    totals = areas.group_by("area").agg(pl.col("amount").sum(), pl.col("label").first())
    amounts = {name: (amount, label) for name, amount, label in totals.rows()}
    shown = [name for name in sorted(amounts, key=_place) if amounts[name][0] > 0]
    everything = float(totals["amount"].sum())
    start = _axis_start(totals, everything)
    bars = [_Bar(top, everything, 0.0, top_text, translucent(palette.comparison, 0.35), "")]
    edge = everything
    for name in shown:
        bars += _area(areas, palette, name, edge)
        edge -= amounts[name][0]
    notes = [
        *_labels(amounts, shown, everything, start, palette),
        _label(top, top_text, start + (everything - start) * 0.03, "left", palette),
    ]
    if start > 0:
        rows = [top, *(["effective"] if "effective" in shown else [])]
        notes += [_cut(row, start, palette) for row in rows]
    return drawn(
        palette,
        ROW * (len(shown) + 1) + 16,
        [_drawn_bar(bar, palette) for bar in bars],
        margin={"t": 4, "b": 4, "r": 4},
        x={"range": [start, everything * 1.001], "visible": False},
        y={
            "categoryorder": "array",
            "categoryarray": [top, *shown][::-1],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        barmode="overlay",
        bargap=0.28,
        annotations=notes,
    )


def marks_told(areas: pl.DataFrame) -> str:
    """What the marks mean that `cascade` draws of these areas; empty where it draws none."""
    drawn_areas = areas.filter(pl.col("amount") > 0)
    told = []
    if drawn_areas["is_recovery"].any():
        told.append("Slanted lines over start-up: after an interruption.")
    if _axis_start(areas, float(areas["amount"].sum())) > 0:
        told.append("A bar that begins with // is cut at the left.")
    return " ".join(told)


@dataclass(frozen=True, slots=True)
class _Bar:
    row: str
    amount: float
    base: float
    text: str
    fill: str
    shape: str


def _place(name: str) -> tuple[bool, bool, int]:
    """Uninstrumented first, as ETT does not speak of it; lifecycle order; effective last."""
    known = AREA_ORDER.index(name) if name in AREA_ORDER else len(AREA_ORDER)
    return name == "effective", name != "uninstrumented", known


def _axis_start(totals: pl.DataFrame, everything: float) -> float:
    effective = float(totals.filter(pl.col("area") == "effective")["amount"].sum())
    lost = everything - effective
    if everything <= 0 or lost <= 0 or lost > _CUT * everything:
        return 0.0
    return max(0.0, everything - lost / 0.55)


def _area(areas: pl.DataFrame, palette: Palette, name: str, edge: float) -> list[_Bar]:
    """The bars of an area that end at `edge`: what came after an interruption is hatched."""
    bars = []
    for is_recovery in (False, True):
        part = areas.filter((pl.col("area") == name) & (pl.col("is_recovery") == is_recovery))
        amount = float(part["amount"].sum())
        if amount > 0:
            edge -= amount
            shape = RECOVERY_PATTERN if is_recovery else AREA_PATTERN.get(name, "")
            what = f"{name}, after an interruption" if is_recovery else name
            text = f"{words.figure(what)}<br>{part['text'][0]}"
            bars.append(_Bar(name, amount, edge, text, palette.area(name), shape))
    return bars


def _drawn_bar(bar: _Bar, palette: Palette) -> dict[str, Any]:
    # a trace a bar: of several colours with patterns, plotly finds none under the pointer
    return {
        "type": "bar",
        "orientation": "h",
        "y": [bar.row],
        "x": np.array([bar.amount]),
        "base": np.array([bar.base]),
        "customdata": [bar.row],
        "marker": {
            "color": bar.fill,
            "line": {"color": translucent(palette.text, 0.4), "width": 1},
            "pattern": hatched(bar.shape, palette),
        },
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
        "hovertext": [bar.text],
        "hoverinfo": "text",
    }


def _labels(
    amounts: dict[str, tuple[float, str]],
    shown: list[str],
    everything: float,
    start: float,
    palette: Palette,
) -> Iterator[dict[str, Any]]:
    edge = everything
    for name in shown:
        amount, text = amounts[name]
        right, edge = edge, edge - amount
        room = _LABEL_SHARE * (everything - start)
        if edge - start > room:
            yield _label(name, text, edge, "right", palette)
        elif everything - right > room:
            yield _label(name, text, right, "left", palette)
        else:  # a bar of nearly everything has room within alone
            inside = _label(name, text, max(edge, start), "left", palette)
            yield {**inside, "bgcolor": palette.background, "borderpad": 1}


def _label(row: str, text: str, x: float, anchor: str, palette: Palette) -> dict[str, Any]:
    return {
        "x": x,
        "y": row,
        "text": text,
        "xanchor": anchor,
        "xshift": -7 if anchor == "right" else 7,
        "showarrow": False,
        "font": {"size": 13, "color": palette.text},
    }


def _cut(row: str, start: float, palette: Palette) -> dict[str, Any]:
    return {
        "x": start,
        "y": row,
        "text": "<b>//</b>",
        "xanchor": "left",
        "xshift": -2,
        "showarrow": False,
        "font": {"size": 18, "color": palette.background},
    }
