"""Seconds of each stage, a ring before and a dot now. Stages overlap: they are not stacked."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, named_rows
from app.palette import Palette

ROW: Final = 30


def dumbbells(stages: pl.DataFrame, palette: Palette) -> go.Figure:
    """Rows from `stages`, in their order: stage, mean_seconds, previous_mean_seconds (null: not
    compared).
    """
    rows = np.arange(stages.height)
    now = stages["mean_seconds"].to_numpy()
    before = stages["previous_mean_seconds"].cast(pl.Float64).to_numpy()
    most = max([1.0, *now.tolist(), *before[~np.isnan(before)].tolist()])
    ticks = [each * _step(most) for each in range(int(most / _step(most)) + 1)]
    return drawn(
        palette,
        ROW * max(stages.height, 1) + 44,
        [
            _bars(before, now, rows, palette),
            _dots(before, rows, stages, palette, is_now=False),
            _dots(now, rows, stages, palette, is_now=True),
            _texts(before, now, rows, palette),
        ],
        margin={"t": 4},
        x={
            "range": [0, most * 1.45],  # beside the last of both stands a text, also on a phone
            "tickvals": ticks,
            "ticktext": [words.duration(each) for each in ticks],
            "tickangle": 0,
            "showgrid": True,
            "gridcolor": palette.grid,
        },
        y=named_rows([words.figure(name, 28) for name in stages["stage"]], palette),
    )


def _bars(before: Any, now: Any, rows: Any, palette: Palette) -> dict[str, Any]:
    """From ring to dot, as one broken line."""
    gaps = np.full(len(rows), np.nan)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.column_stack([before, now, gaps]).ravel(),
        "y": np.column_stack([rows, rows, gaps]).ravel(),
        "line": {"color": palette.comparison, "width": 2},
        "connectgaps": False,
        "hoverinfo": "skip",
    }


def _dots(
    seconds: Any, rows: Any, stages: pl.DataFrame, palette: Palette, *, is_now: bool
) -> dict[str, Any]:
    texts = [words.duration(None if np.isnan(each) else float(each)) for each in seconds]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": seconds,
        "y": rows,
        "marker": {
            "size": 11,
            "color": palette.area("trainer_init") if is_now else palette.background,
            "line": {
                "color": palette.area("trainer_init") if is_now else palette.comparison,
                "width": 2,
            },
        },
        "cliponaxis": False,
        "hovertext": [
            f"{words.figure(name)}<br>{'now' if is_now else 'before'} {text}"
            for name, text in zip(stages["stage"], texts, strict=True)
        ],
        "hoverinfo": "text",
    }


def _texts(before: Any, now: Any, rows: Any, palette: Palette) -> dict[str, Any]:
    """What it takes now, beside the dot, or beside the ring where that is further right."""
    seconds = [None if np.isnan(each) else float(each) for each in now]
    return {
        "type": "scatter",
        "mode": "text",
        "x": np.fmax(before, now),
        "y": rows,
        "text": [f"   {words.duration(each)}" for each in seconds],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": palette.text},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _step(most: float) -> float:
    return next((each for each in (1, 2, 5, 10, 30, 60, 120, 300, 600) if most / each <= 3), 1800)
