"""Marks on the axis of days of any chart: what got worse, and the target of ETT."""

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


# what the name of a target takes beside a chart, in pixels: on a phone each counts
TARGET_MARGIN = 56


def target_line(target: float | None, palette: Palette) -> dict[str, Any]:
    """Layout of a target: a dashed line, named at its right end; of none nothing."""
    if target is None:
        return {}
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": target,
        "y1": target,
        "line": {"color": palette.text, "width": 1, "dash": "dash"},
    }
    name = {
        "x": 1,
        "xref": "paper",
        "y": target,
        "text": f"target<br>{words.target(target)}",
        "xanchor": "left",
        "xshift": 6,
        "showarrow": False,
        "font": {"size": 12, "color": palette.text},
    }
    return {"shapes": [line], "annotations": [name]}
