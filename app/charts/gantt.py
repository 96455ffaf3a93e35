"""What a job did: a row for each attempt, a bar for each area, saves above, the end beside.

Reads no clock: the axis is what the data spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn
from app.charts.gantt_marks import PIXELS, Axis, ends, saves, waits
from app.palette import (
    AREA_ORDER,
    AREA_PATTERN,
    RECOVERY_PATTERN,
    Palette,
    readable_on,
    translucent,
)

ROW: Final = 38
MOST_ATTEMPTS: Final = 30
MOST_BARS: Final = 3000


def gantt(
    attempts: pl.DataFrame, detail: pl.DataFrame, palette: Palette, *, aligned: bool = False
) -> go.Figure:
    """The last attempts of a job.

    `attempts`: attempt, started_at, ended_at, outcome, and cause where it is known. `detail`:
    attempt, kind, name, started_us, ended_us, detail, step of kinds `area` and `save`. With
    `aligned` every attempt starts at zero, for comparison.
    """
    attempts = (
        attempts.sort("attempt")
        .tail(MOST_ATTEMPTS)
        .with_columns(pl.col("started_at", "ended_at").dt.epoch("us"))
    )
    numbers = attempts["attempt"].to_list()
    detail = detail.filter(pl.col("attempt").is_in(numbers))
    rows = {number: row for row, number in enumerate(numbers)}
    axis = Axis(aligned, dict(zip(numbers, attempts["started_at"].to_list(), strict=True)))
    span = _span(attempts, aligned)
    areas = thinned(detail.filter(pl.col("kind") == "area"), span)
    return drawn(
        palette,
        ROW * len(numbers) + 56,
        [
            *([] if aligned else waits(palette, attempts, rows, axis, span)),
            *_areas(palette, areas, rows, axis),
            *saves(palette, detail.filter(pl.col("kind") == "save"), rows, axis, span),
            ends(palette, attempts, rows, axis, span),
        ],
        margin={"t": 12, "r": 16},
        x={
            "fixedrange": False,
            "showline": True,
            "showgrid": True,
            "gridcolor": palette.grid,
            **_range(attempts, aligned, span),
        },
        y={
            "range": [len(numbers) - 0.45, -0.65],
            "tickvals": list(range(len(numbers))),
            "ticktext": [f"attempt {number}" for number in numbers],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        barmode="overlay",
        hovermode="closest",
        dragmode="zoom",
    )


def thinned(areas: pl.DataFrame, span_us: float) -> pl.DataFrame:
    """The same bars, without those narrower than half a pixel where there are too many to draw.

    A bar that is kept reaches over the dropped ones that follow it; neighbours of one area merge.
    """
    areas = areas.filter(pl.col("ended_us") > pl.col("started_us")).sort("attempt", "started_us")
    if areas.height <= MOST_BARS:
        return areas
    least = span_us / PIXELS / 2
    kept = areas.filter((pl.col("ended_us") - pl.col("started_us")) >= least)
    following = pl.col("started_us").shift(-1).over("attempt")
    near = (following - pl.col("ended_us")) < 20 * least
    kept = kept.with_columns(ended_us=pl.when(near).then(following).otherwise(pl.col("ended_us")))
    is_new = (
        pl.struct("attempt", "name", "detail").ne_missing(
            pl.struct("attempt", "name", "detail").shift(1)
        )
        | (pl.col("started_us") != pl.col("ended_us").shift(1))
    ).fill_null(True)
    return (
        kept.with_columns(run=is_new.cum_sum())
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("attempt", "kind", "name", "detail", "started_us").first(),
            pl.col("ended_us").last(),
        )
        .drop("run")
    )


def _span(attempts: pl.DataFrame, aligned: bool) -> float:
    if not attempts.height:
        return 1.0
    if aligned:
        return float((attempts["ended_at"] - attempts["started_at"]).to_numpy().max()) or 1.0
    return (
        float(attempts["ended_at"].to_numpy().max() - attempts["started_at"].to_numpy().min())
        or 1.0
    )


def _areas(
    palette: Palette, areas: pl.DataFrame, rows: dict[int, int], axis: Axis
) -> Iterator[dict[str, Any]]:
    recovery = pl.col("detail").fill_null("") == "recovery"
    known = {name: place for place, name in enumerate(AREA_ORDER)}
    parts = areas.with_columns(is_recovery=recovery).partition_by(
        "name", "is_recovery", as_dict=True
    )
    is_sparse = areas.height < 400
    for (name, is_recovery), part in sorted(
        parts.items(), key=lambda item: (known.get(str(item[0][0]), 99), str(item[0]))
    ):
        name = str(name)
        label = words.figure(words.area(name))
        attempt = part["attempt"].to_numpy()
        start, end = part["started_us"].to_numpy(), part["ended_us"].to_numpy()
        after = ", after an interruption" if is_recovery else ""
        yield {
            "type": "bar",
            "orientation": "h",
            "name": label,
            "text": [label] * part.height if is_sparse else None,
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "textfont": {"color": readable_on(palette.area(name)), "size": 12},
            "y": np.array([rows[number] for number in attempt.tolist()]),
            "base": axis.x(attempt, start),
            "x": axis.width(end - start),
            "width": 0.62,
            "marker": {
                "color": palette.area(name),
                "line": {"color": translucent(palette.text, 0.4), "width": 1 if is_sparse else 0},
                "pattern": {
                    "shape": RECOVERY_PATTERN if is_recovery else AREA_PATTERN.get(name, ""),
                    "fgcolor": translucent(palette.text, 0.6),
                    "size": 6,
                    "solidity": 0.25,
                    "fillmode": "overlay",
                },
            },
            "hovertext": [
                f"<b>{label}</b>{after}<br>{words.duration(length)}"
                f"<br>{_clock(first)} to {_clock(last)} UTC"
                for first, last, length in zip(start, end, (end - start) / 1e6, strict=True)
            ],
            "hoverinfo": "text",
        }


def _clock(at_us: np.int64) -> str:
    return str(np.datetime64(int(at_us), "us").astype("datetime64[s]")).replace("T", " ")


def _range(attempts: pl.DataFrame, aligned: bool, span: float) -> dict[str, Any]:
    if aligned:
        return {
            "range": [-span / 3.6e9 * 0.005, span / 3.6e9 * 1.03],
            "ticksuffix": " h",
            "title": {"text": "since each attempt's start", "font": {"size": 12}},
        }
    first = int(attempts["started_at"].to_numpy().min())
    edges = np.array([first - span * 0.005, first + span * 1.03]).astype(np.int64)
    return {"type": "date", "range": list(edges.astype("datetime64[us]").astype(str))}
