"""A table whose cells are shaded by what they say: rows by columns, a number in each cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import polars as pl

from app import words
from app.charts.canvas import Drawn, drawn
from app.palette import Palette, readable_on

ROW: Final = 32


def heat(
    cells: pl.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    palette: Palette,
    show: Callable[[float], str],
    marked: str = "",
) -> Drawn:
    """`cells`: row, column, value, hover. The column `marked` is bold.

    Rows and columns are drawn in the order given; a cell that is not in `cells` stays empty.
    """
    row_at = {name: place for place, name in enumerate(rows)}
    column_at = {name: place for place, name in enumerate(columns)}
    values = np.full((len(rows), len(columns)), np.nan)
    hovers = np.full((len(rows), len(columns)), "", dtype=object)
    for row, column, value, hover in cells.select("row", "column", "value", "hover").iter_rows():
        if row in row_at and column in column_at:
            values[row_at[row], column_at[column]] = value
            hovers[row_at[row], column_at[column]] = hover
    width = max(6, min(18, 108 // max(len(columns), 1)))  # characters that stand side by side
    most = float(np.nanmax(values, initial=0.0)) or 1.0
    ramp = palette.sequential
    steps = len(ramp) - 1
    shaded = {
        "type": "heatmap",
        "z": values,
        "x": np.arange(len(columns)),
        "y": np.arange(len(rows)),
        "zmin": 0,
        "zmax": most,
        "colorscale": [[place / steps, colour] for place, colour in enumerate(ramp)],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "text": hovers,
        "hoverinfo": "text",
    }
    numbers = [
        {
            "x": column,
            "y": row,
            "text": show(float(value)),
            "showarrow": False,
            "font": {"size": 12, "color": readable_on(ramp[round(value / most * steps)])},
        }
        for (row, column), value in np.ndenumerate(values)
        if not np.isnan(value)
    ]
    return drawn(
        palette,
        ROW * max(len(rows), 1) + 44,
        [shaded],
        margin={"t": 4, "b": 4},
        x={
            "side": "top",
            "tickvals": list(column_at.values()),
            "ticktext": [
                f"<b>{words.figure(name, width)}</b>"
                if name == marked
                else words.figure(name, width)
                for name in columns
            ],
            "tickangle": 0,
            "tickfont": {"color": palette.text, "size": 12},
        },
        y={
            "autorange": "reversed",
            "tickvals": list(row_at.values()),
            "ticktext": [words.figure(name, 24) for name in rows],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        annotations=numbers,
    )
