"""The figure that every chart starts from, in the theme's colours. Draws no data of its own.

A chart lists its traces and axes as plotly's dictionaries and makes the figure once: adding to a
figure piece by piece costs ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import plotly.io
from numpy.typing import NDArray

from app.palette import Palette, translucent

# a figure says all that it needs: the default template is longer than most of them
plotly.io.templates.default = None
FONT: Final = '"Source Sans", "Source Sans 3", system-ui, sans-serif'


class Drawn(go.Figure):  # type: ignore[misc]  # plotly's classes have no types
    """A figure that is handed to the browser as it was listed, with lists for arrays.

    Streamlit gives plotly each figure twice, and plotly draws it twice unless all of the second is
    equal to the first; it takes typed arrays, as plotly would write numpy's, never for equal.
    Plotly's own objects are made once somebody asks for one: no page does.
    """

    listed: dict[str, Any]

    def __init__(self, traces: list[Mapping[str, Any]], layout: dict[str, Any]) -> None:
        # around plotly's own way of setting, which would ask for all that it holds
        object.__setattr__(self, "listed", {"data": traces, "layout": layout})

    def __getattr__(self, name: str) -> Any:
        if "_data" in vars(self) or "listed" not in vars(self):
            raise AttributeError(name)
        super().__init__(**self.listed, _validate=False)
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """What is written as JSON; without the copies and searches of plotly's own."""
        if "_data" in vars(self):  # whoever asked for them may have changed them
            return {"data": _plain(self._data), "layout": _plain(self._layout)}
        return {name: _plain(listed) for name, listed in self.listed.items()}


def drawn(
    palette: Palette,
    height: int,
    traces: Iterable[Mapping[str, Any]],
    *,
    margin: Mapping[str, int] | None = None,
    x: Mapping[str, Any] | None = None,
    y: Mapping[str, Any] | None = None,
    **layout: Any,
) -> Drawn:
    """A figure of these traces in the theme's colours, without legend, title or grid but the y
    lines; `x`, `y` and `layout` add to what every chart has.

    `layout` may hold further axes (`xaxis2`), made by `axis`.
    """
    return Drawn(
        list(traces),
        {
            "height": height,
            "datarevision": 1,  # lists are compared by this alone: other data is another figure
            "autotypenumbers": "strict",
            "minreducedheight": 16,  # else a figure of one row has no room for the names above it
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


def bars(
    lengths: NDArray[np.float64], texts: Sequence[str], marker: Mapping[str, Any], palette: Palette
) -> dict[str, Any]:
    """Bars that lie one below the other, each with its text after it."""
    return {
        "type": "bar",
        "orientation": "h",
        "y": np.arange(len(lengths)),
        "x": lengths,
        "text": list(texts),
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 13, "color": palette.text},
        "marker": {"line": {"color": translucent(palette.text, 0.4), "width": 1}, **marker},
        "hoverinfo": "skip",
    }


def hatched(
    shape: str | list[str], palette: Palette, *, ink: float = 0.55, solidity: float = 0.25
) -> dict[str, Any]:
    """The pattern of a marker over its colour; the empty shape is none. `ink`: how opaque."""
    return {
        "shape": shape,
        "fgcolor": translucent(palette.text, ink),
        "size": 6,
        "solidity": solidity,
        "fillmode": "overlay",
    }


def named_rows(names: Sequence[str], palette: Palette) -> dict[str, Any]:
    """Settings of a y axis with a row for each name, the first on top."""
    return {
        "range": [len(names) - 0.5, -0.5],
        "tickvals": np.arange(len(names)),
        "ticktext": list(names),
        "showgrid": False,
        "tickfont": {"color": palette.text, "size": 13},
        "ticklabelstandoff": 6,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "M":
            return [None if np.isnat(each) else str(each) for each in value]
        return value.tolist()
    return value
