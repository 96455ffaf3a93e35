"""The empty figure that every chart starts from. Draws no data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import plotly.graph_objects as go

from app.palette import Palette

FONT: Final = '"Source Sans", "Source Sans 3", system-ui, sans-serif'
FULL: Final = 100


def blank(palette: Palette, height: int, margin: Mapping[str, int] | None = None) -> go.Figure:
    """A figure in the theme's colours, without legend, title or grid but the y lines."""
    figure = go.Figure()
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8, **(margin or {})},
        paper_bgcolor=palette.background,
        plot_bgcolor=palette.background,
        font={"family": FONT, "size": 13, "color": palette.text},
        hoverlabel={
            "bgcolor": palette.surface,
            "bordercolor": palette.grid,
            "font": {"family": FONT, "size": 13, "color": palette.text},
            "align": "left",
        },
        showlegend=False,
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": palette.muted, "activecolor": palette.text},
        dragmode=False,
        uniformtext={"mode": "hide", "minsize": 10},
    )
    figure.update_xaxes(**_axis(palette), showgrid=False)
    figure.update_yaxes(**_axis(palette), gridcolor=palette.grid)
    return figure


def _axis(palette: Palette) -> dict[str, Any]:
    return {
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
        "linecolor": palette.grid,
        "tickfont": {"color": palette.muted, "size": 12},
        "ticks": "",
    }
