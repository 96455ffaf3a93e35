"""Where the time went: everything on top, each area taking its part, effective last."""

from __future__ import annotations

from typing import Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import blank
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
    long bars are cut at the left so that the short ones can be compared; a gap shows it.
    """
    totals = areas.group_by("area").agg(pl.col("amount").sum(), pl.col("label").first())
    shown = [
        name
        for name in sorted(totals["area"], key=_place)
        if totals.row(by_predicate=pl.col("area") == name, named=True)["amount"] > 0
    ]
    everything = float(totals["amount"].sum())
    figure = blank(palette, ROW * (len(shown) + 1) + 16, {"t": 4, "b": 4, "r": 4})
    start = _axis_start(totals, everything)
    _bar(
        figure, palette, top, everything, 0.0, top_text, fill=translucent(palette.comparison, 0.35)
    )
    edge = everything
    for name in shown:
        edge = _area(figure, palette, areas, name, edge)
    _labels(figure, palette, totals, shown, everything, start)
    _label(figure, palette, top, top_text, x=start + (everything - start) * 0.03, anchor="left")
    if start > 0:
        _cuts(figure, palette, [top, *(["effective"] if "effective" in shown else [])], start)
    figure.update_layout(barmode="overlay", bargap=0.28)
    figure.update_xaxes(range=[start, everything * 1.001], visible=False)
    figure.update_yaxes(
        categoryorder="array",
        categoryarray=[top, *shown][::-1],
        showgrid=False,
        tickfont={"color": palette.text, "size": 13},
        ticklabelstandoff=6,
    )
    return figure


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


def _area(
    figure: go.Figure, palette: Palette, areas: pl.DataFrame, name: str, edge: float
) -> float:
    for is_recovery in (False, True):
        part = areas.filter((pl.col("area") == name) & (pl.col("is_recovery") == is_recovery))
        amount = float(part["amount"].sum())
        if amount > 0:
            edge -= amount
            shape = RECOVERY_PATTERN if is_recovery else AREA_PATTERN.get(name, "")
            what = f"{name}, after an interruption" if is_recovery else name
            text = f"{words.figure(what)}<br>{part['text'][0]}"
            _bar(figure, palette, name, amount, edge, text, palette.area(name), shape)
    return edge


def _bar(
    figure: go.Figure,
    palette: Palette,
    row: str,
    amount: float,
    base: float,
    text: str,
    fill: str,
    shape: str = "",
) -> None:
    figure.add_trace(
        go.Bar(
            orientation="h",
            y=[row],
            x=np.array([amount]),
            base=np.array([base]),
            marker={
                "color": fill,
                "line": {"color": translucent(palette.text, 0.4), "width": 1},
                "pattern": {
                    "shape": shape,
                    "fgcolor": translucent(palette.text, 0.55),
                    "size": 6,
                    "solidity": 0.25,
                    "fillmode": "overlay",
                },
            },
            hovertext=[text],
            hoverinfo="text",
        )
    )


def _labels(
    figure: go.Figure,
    palette: Palette,
    totals: pl.DataFrame,
    shown: list[str],
    everything: float,
    start: float,
) -> None:
    edge = everything
    for name in shown:
        total = totals.row(by_predicate=pl.col("area") == name, named=True)
        right, edge = edge, edge - total["amount"]
        has_room = edge - start > _LABEL_SHARE * (everything - start)  # at the left of the bar
        at, anchor = (edge, "right") if has_room else (right, "left")
        _label(figure, palette, name, total["label"], x=at, anchor=anchor)


def _label(
    figure: go.Figure, palette: Palette, row: str, text: str, *, x: float, anchor: str
) -> None:
    figure.add_annotation(
        x=x,
        y=row,
        text=text,
        xanchor=anchor,
        xshift=-7 if anchor == "right" else 7,
        showarrow=False,
        font={"size": 13, "color": palette.text},
    )


def _cuts(figure: go.Figure, palette: Palette, rows: list[str], start: float) -> None:
    for row in rows:
        figure.add_annotation(
            x=start,
            y=row,
            text="<b>//</b>",
            xanchor="left",
            xshift=-2,
            showarrow=False,
            font={"size": 18, "color": palette.background},
        )
