"""What moved a ratio: to the left the parts that pulled it down, to the right what lifted it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, hatched
from app.palette import AREA_PATTERN, Palette, translucent

ROW: Final = 27
JOB_MIX: Final = "job_mix"


def moved(parts: pl.DataFrame, palette: Palette) -> go.Figure:
    """Diverging bars from `parts`, in their order: area (or job_mix), moved_ratio.

    The name stands on the other side of zero than the bar, so that neither hides the other. A click
    gives the area as its customdata.
    """
    ratios = parts["moved_ratio"].to_numpy()
    reach = float(np.abs(ratios).max()) * 1.8 if parts.height else 1.0
    bars = [
        _bar(row, name, float(value), palette)
        for row, (name, value) in enumerate(zip(parts["area"], ratios, strict=True))
    ]
    names = [
        {
            "x": 0,
            "y": row,
            "text": f"<b>{_name(name)}</b>" if name == JOB_MIX else _name(name),
            "xanchor": "right" if value > 0 else "left",
            "xshift": -6 if value > 0 else 6,
            "showarrow": False,
            "font": {"size": 13, "color": palette.text},
        }
        for row, (name, value) in enumerate(zip(parts["area"], ratios, strict=True))
    ]
    zero = {
        "type": "line",
        "x0": 0,
        "x1": 0,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": palette.muted, "width": 1},
    }
    return drawn(
        palette,
        ROW * max(parts.height, 1) + 12,
        bars,
        margin={"t": 4, "b": 4},
        x={"range": [-reach, reach], "visible": False},
        y={"visible": False, "range": [parts.height - 0.5, -0.5]},
        barmode="overlay",
        bargap=0.28,
        uniformtext={"mode": False},
        annotations=names,
        shapes=[zero],
    )


def _bar(row: int, name: str, value: float, palette: Palette) -> dict[str, Any]:
    # a trace a bar: of several colours with patterns, plotly finds none under the pointer
    return {
        "type": "bar",
        "orientation": "h",
        "y": [row],
        "x": [value],
        "customdata": [name],
        "text": [words.points(value, 2)],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 13, "color": palette.text},
        "marker": {
            "color": palette.comparison if name == JOB_MIX else palette.area(name),
            "line": {"color": translucent(palette.text, 0.4), "width": 1},
            "pattern": hatched(AREA_PATTERN.get(name, ""), palette),
        },
        "selected": {"marker": {"opacity": 1}},
        "unselected": {"marker": {"opacity": 1}},
        "hovertext": [_name(name)],
        "hoverinfo": "text",
    }


def _name(part: str) -> str:
    return "job mix" if part == JOB_MIX else words.figure(words.area(part))
