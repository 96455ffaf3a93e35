"""Marks of what got worse, on the axis of days of any chart."""

from __future__ import annotations

from typing import Any

import polars as pl

from app import words
from app.palette import Palette


def regressions(marks: pl.DataFrame, y: float, palette: Palette) -> dict[str, Any]:
    """Triangles at the height `y` from `marks`: day, text. The text is under the pointer."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "regression",
        "x": marks["day"].to_numpy(),
        "y": [y] * marks.height,
        "marker": {
            "symbol": "triangle-up",
            "size": 13,
            "color": palette.bad,
            "line": {"color": palette.background, "width": 1},
        },
        "cliponaxis": False,
        "hovertext": [words.figure(text, 200) for text in marks["text"]],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }
