"""The figure that every chart starts from, in the theme's colours. Draws no data of its own.

A chart lists its traces and axes as plotly's dictionaries and makes the figure once: adding to a
figure piece by piece costs ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import plotly.graph_objects as go

from app.palette import Palette

FONT: Final = '"Source Sans", "Source Sans 3", system-ui, sans-serif'


def blank(palette: Palette, height: int, margin: Mapping[str, int] | None = None) -> go.Figure:
    """A figure in the theme's colours, without legend, title or grid but the y lines."""
    return drawn(palette, height, [], margin=margin)


def drawn(
    palette: Palette,
    height: int,
    traces: Iterable[Mapping[str, Any]],
    *,
    margin: Mapping[str, int] | None = None,
    x: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    **layout: Any,
) -> go.Figure:
    """A figure of these traces; `x`, `y` and `layout` add to what every chart has.

    `layout` may hold further axes (`xaxis2`), made by `axis`.
    """
    return go.Figure(
        data=list(traces),
        layout={
            "height": height,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8, **(margin or {})},
            "paper_bgcolor": palette.background,
            "plot_bgcolor": palette.background,
            "font": {"family": FONT, "size": 13, "color": palette.text},
            "hoverlabel": {
                "bgcolor": palette.surface,
                "bordercolor": palette.grid,
                "font": {"family": FONT, "size": 13, "color": palette.text},
                "align": "left",
            },
            "showlegend": False,
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": palette.muted,
                "activecolor": palette.text,
            },
            "dragmode": False,
            "uniformtext": {"mode": "hide", "minsize": 10},
            "xaxis": axis(palette, **{"showgrid": False, **(x or {})}),
            "yaxis": axis(palette, **{"gridcolor": palette.grid, **(y or {})}),
            **layout,
        },
        _validate=False,  # half of the time that a page takes; tests/app hold every chart to it
    )


def axis(palette: Palette, **settings: Any) -> dict[str, Any]:
    """What every axis has, and these settings."""
    return {
        "automargin": True,
        "fixedrange": True,
        "zeroline": False,
        "linecolor": palette.grid,
        "tickfont": {"color": palette.muted, "size": 12},
        "ticks": "",
        **settings,
    }
