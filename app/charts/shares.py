"""A share by team, the largest first, against a limit."""

from __future__ import annotations

from typing import Final

import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import bars, drawn, hatched, named_rows
from app.palette import AREA_PATTERN, Palette

ROW: Final = 27


def unaccounted(teams: pl.DataFrame, limit: float, palette: Palette) -> go.Figure:
    """Bars from `teams`: team, unaccounted_ratio, with the limit that alarms as a line."""
    shares = teams["unaccounted_ratio"].to_numpy()
    reach = max(float(shares.max()) if teams.height else 0.0, limit) * 1.3
    return drawn(
        palette,
        ROW * max(teams.height, 1) + 40,
        [
            bars(
                shares,
                [words.ratio(float(share), 2) for share in shares],
                {
                    "color": palette.area("unaccounted"),
                    "pattern": hatched(AREA_PATTERN["unaccounted"], palette, ink=0.4, solidity=0.2),
                },
                palette,
            )
        ],
        margin={"t": 22, "b": 4},
        x={"range": [0, reach], "visible": False},
        y=named_rows([words.figure(team, 28) for team in teams["team"]], palette),
        bargap=0.28,
        uniformtext={"mode": False},
        shapes=[
            {
                "type": "line",
                "x0": limit,
                "x1": limit,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": palette.warn, "width": 1, "dash": "dash"},
            }
        ],
        annotations=[
            {
                "x": limit,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "xanchor": "right",  # right of the line there may be no room
                "text": f"alarm at {words.target(limit)}",
                "showarrow": False,
                "font": {"size": 12, "color": palette.text},
            }
        ],
    )
