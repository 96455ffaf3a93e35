"""Which share of each team's shutdown is publishing the model, the longest shutdowns first."""

from __future__ import annotations

from typing import Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn
from app.palette import Palette, translucent

ROW: Final = 27


def publishing(teams: pl.DataFrame, palette: Palette) -> go.Figure:
    """Bars from `teams`, in their order: team, publishing_ratio, text."""
    return drawn(
        palette,
        ROW * max(teams.height, 1) + 12,
        [
            {
                "type": "bar",
                "orientation": "h",
                "y": np.arange(teams.height),
                "x": teams["publishing_ratio"].to_numpy(),
                "text": teams["text"].to_list(),
                "textposition": "outside",
                "cliponaxis": False,
                "textfont": {"size": 13, "color": palette.text},
                "marker": {
                    "color": palette.area("shutdown"),
                    "line": {"color": translucent(palette.text, 0.4), "width": 1},
                },
                "hoverinfo": "skip",
            }
        ],
        margin={"t": 4, "b": 4},
        x={"range": [0, 1.7], "visible": False},
        y={
            "range": [teams.height - 0.5, -0.5],
            "tickvals": np.arange(teams.height),
            "ticktext": [words.figure(team, 28) for team in teams["team"]],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        bargap=0.28,
        uniformtext={"mode": False},
    )
