"""What moved a ratio: to the left the areas that pulled it down, to the right what lifted it."""

from __future__ import annotations

from typing import Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import blank
from app.palette import AREA_PATTERN, Palette, translucent

ROW: Final = 27


def moved(areas: pl.DataFrame, palette: Palette) -> go.Figure:
    """Diverging bars from `areas`: area, pulled_ratio (its part in the change of ETT), sorted.

    The name stands on the other side of zero than the bar, so that neither hides the other.
    """
    pulled = areas["pulled_ratio"].to_numpy()
    figure = blank(palette, ROW * max(areas.height, 1) + 12, {"t": 4, "b": 4})
    figure.add_trace(
        go.Bar(
            orientation="h",
            y=np.arange(areas.height),
            x=pulled,
            text=[words.points(float(value), 2) for value in pulled],
            textposition="outside",
            cliponaxis=False,
            textfont={"size": 13, "color": palette.text},
            marker={
                "color": [palette.area(name) for name in areas["area"]],
                "line": {"color": translucent(palette.text, 0.4), "width": 1},
                "pattern": {
                    "shape": [AREA_PATTERN.get(name, "") for name in areas["area"]],
                    "fgcolor": translucent(palette.text, 0.55),
                    "size": 6,
                    "solidity": 0.25,
                    "fillmode": "overlay",
                },
            },
            hovertext=[words.figure(words.area(name)) for name in areas["area"]],
            hoverinfo="text",
        )
    )
    for row, (name, value) in enumerate(zip(areas["area"], pulled, strict=True)):
        figure.add_annotation(
            x=0,
            y=row,
            text=words.figure(words.area(name)),
            xanchor="right" if value > 0 else "left",
            xshift=-6 if value > 0 else 6,
            showarrow=False,
            font={"size": 13, "color": palette.text},
        )
    reach = float(np.abs(pulled).max()) * 1.8 if areas.height else 1.0
    figure.update_layout(bargap=0.28, uniformtext={"mode": False})
    figure.update_xaxes(range=[-reach, reach], visible=False)
    figure.update_yaxes(visible=False, range=[areas.height - 0.5, -0.5])
    figure.add_vline(x=0, line={"color": palette.muted, "width": 1})
    return figure
