"""What starting cost by area: first tries above, tries after an interruption hatched below."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn, hatched, named_rows
from app.palette import RECOVERY_PATTERN, Palette, translucent

ROW: Final = 44


def pairs(areas: pl.DataFrame, palette: Palette) -> go.Figure:
    """Horizontal bars from `areas`, in their order: area, first_amount, first_text, again_amount,
    again_text (the texts stand beside the bars).
    """
    rows = np.arange(areas.height)
    most = max(
        (
            float(areas[name].to_numpy().max())
            for name in ("first_amount", "again_amount")
            if areas.height
        ),
        default=0.0,
    )
    return drawn(
        palette,
        ROW * max(areas.height, 1) + 12,
        [_bars(areas, which, rows, palette) for which in ("first", "again")],
        margin={"t": 4, "b": 4},
        x={"range": [0, (most or 1.0) * 1.35], "visible": False},
        y=named_rows([words.figure(words.area(name)) for name in areas["area"]], palette),
        barmode="group",
        bargap=0.3,
        bargroupgap=0.08,
        uniformtext={"mode": False},
    )


def _bars(
    areas: pl.DataFrame, which: str, rows: np.ndarray[Any, Any], palette: Palette
) -> dict[str, Any]:
    what = "after an interruption" if which == "again" else "first tries"
    return {
        "type": "bar",
        "orientation": "h",
        "name": what,
        "y": rows,
        "x": areas[f"{which}_amount"].to_numpy(),
        "text": areas[f"{which}_text"].to_list(),
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": 12, "color": palette.text},
        "hovertext": [f"{words.figure(words.area(name))}, {what}" for name in areas["area"]],
        "hoverinfo": "text",
        "marker": {
            "color": [palette.area(name) for name in areas["area"]],
            "line": {"color": translucent(palette.text, 0.4), "width": 1},
            "pattern": hatched(RECOVERY_PATTERN if which == "again" else "", palette),
        },
    }
