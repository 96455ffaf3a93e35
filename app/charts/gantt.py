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
from app.charts.canvas import drawn, hatched
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
# narrower than a pixel in one attempt: as many as starting up has
MOST_NARROW: Final = 10
_BAR: Final = ("attempt", "kind", "name", "detail", "started_us", "ended_us")


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
    """The same bars, but of an attempt that has more of them than a screen shows: there each pixel
    is of the area that took most of it, and neighbours of one area are one bar.

    A browser draws what is narrower than a pixel as wide as one: the saves of a job that runs for
    weeks would hide what it trained between them.
    """
    areas = areas.filter(pl.col("ended_us") > pl.col("started_us")).sort("attempt", "started_us")
    is_crowded = pl.col("attempt").is_in(crowded(areas, span_us))
    few = areas.filter(~is_crowded).select(_BAR)
    many = _merged(_pixels(areas.filter(is_crowded), _pixel(span_us)))
    return pl.concat(
        [few.with_columns(is_summed=pl.lit(False)), many.with_columns(is_summed=pl.lit(True))]
    ).sort("attempt", "started_us")


def crowded(areas: pl.DataFrame, span_us: float) -> list[int]:
    """The attempts of which more than a tenth would be drawn as what is narrower than a pixel."""
    pixel = _pixel(span_us)
    narrow = ((pl.col("ended_us") - pl.col("started_us")) < pixel).sum()
    pixels = (pl.col("ended_us").max() - pl.col("started_us").min()) / pixel
    return (
        areas.group_by("attempt")
        .agg(narrow=narrow, pixels=pixels)
        .filter((pl.col("narrow") > MOST_NARROW) & (pl.col("narrow") > pl.col("pixels") / 10))[
            "attempt"
        ]
        .sort()
        .to_list()
    )


def is_summed(attempts: pl.DataFrame, detail: pl.DataFrame, *, aligned: bool = False) -> bool:
    """Whether the Gantt of these shows of some attempt what took most of each pixel."""
    shown = attempts.sort("attempt").tail(MOST_ATTEMPTS)
    areas = detail.filter(
        pl.col("attempt").is_in(shown["attempt"].to_list()) & (pl.col("kind") == "area")
    )
    return bool(
        crowded(
            areas,
            _span(shown.with_columns(pl.col("started_at", "ended_at").dt.epoch("us")), aligned),
        )
    )


def _pixel(span_us: float) -> int:
    return max(1, int(span_us / PIXELS))


def _pixels(areas: pl.DataFrame, pixel: int) -> pl.DataFrame:
    """A bar for each pixel of each attempt: what took most of it, at a tie what came first."""
    cells = pl.int_ranges(pl.col("started_us") // pixel, (pl.col("ended_us") - 1) // pixel + 1)
    return (
        areas.with_columns(cell=cells)
        .explode("cell")
        .with_columns(
            started_us=pl.max_horizontal("started_us", pl.col("cell") * pixel),
            ended_us=pl.min_horizontal("ended_us", (pl.col("cell") + 1) * pixel),
        )
        .group_by("attempt", "cell", "kind", "name", "detail")
        .agg(
            pl.col("started_us").min(),
            pl.col("ended_us").max(),
            took=(pl.col("ended_us") - pl.col("started_us")).sum(),
        )
        .sort("attempt", "cell", "took", "started_us", descending=[False, False, True, False])
        .group_by("attempt", "cell", maintain_order=True)
        .agg(
            pl.col("kind", "name", "detail").first(),
            pl.col("started_us").min(),
            pl.col("ended_us").max(),
        )
        .select(_BAR)
    )


def _merged(bars: pl.DataFrame) -> pl.DataFrame:
    """Neighbours of one area as one bar."""
    same = pl.struct("attempt", "name", "detail")
    is_new = (
        same.ne_missing(same.shift(1)) | (pl.col("started_us") != pl.col("ended_us").shift(1))
    ).fill_null(True)
    return (
        bars.with_columns(run=is_new.cum_sum())
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("attempt", "kind", "name", "detail", "started_us").first(),
            pl.col("ended_us").last(),
        )
        .select(_BAR)
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
                "pattern": hatched(
                    RECOVERY_PATTERN if is_recovery else AREA_PATTERN.get(name, ""),
                    palette,
                    ink=0.6,
                ),
            },
            "hovertext": [
                f"<b>{label}</b>{', for the most part' if is_summed else ''}{after}"
                f"<br>{words.duration(length)}<br>{_clock(first)} to {_clock(last)} UTC"
                for first, last, length, is_summed in zip(
                    start, end, (end - start) / 1e6, part["is_summed"], strict=True
                )
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
