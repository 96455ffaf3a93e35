"""Which share of each team's shutdown is publishing the model, the longest shutdowns first."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import bars, drawn, named_rows
from app.palette import Palette

ROW: Final = 27


def publishing(teams: pl.DataFrame, palette: Palette) -> go.Figure:
    """Bars from `teams`, in their order: team, publishing_ratio, text."""
    return drawn(
        palette,
        ROW * max(teams.height, 1) + 12,
        [
            bars(
                teams["publishing_ratio"].to_numpy(),
                teams["text"].to_list(),
                {"color": palette.area("shutdown")},
                palette,
            )
        ],
        margin={"t": 4, "b": 4},
        x={"range": [0, 1.7], "visible": False},
        y=named_rows([words.figure(team, 28) for team in teams["team"]], palette),
        bargap=0.28,
        uniformtext={"mode": False},
    )
