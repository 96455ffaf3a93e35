"""Lines by day, named at their right end, so that nobody needs a legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import polars as pl

from app.charts.canvas import drawn
from app.charts.days import dots, few_days, told
from app.palette import Palette


@dataclass(frozen=True, slots=True)
class Line:
    """One column of the days: what it is called, and how its line is drawn."""

    column: str
    name: str
    dash: str = "solid"


def lines_by_day(
    days: pl.DataFrame,
    lines: Sequence[Line],
    show: Callable[[float | None], str],
    axis: Mapping[str, Any],
    palette: Palette,
    height: int,
) -> go.Figure:
    """Lines of `days` (day, is_complete, a column for each line, and `previous_<column>` of the
    first, which is a thin grey line). `show`: a value in words; `axis`: settings of the y axis.
    """
    shown = told(days)
    notes = []
    for line in lines:
        known = shown.drop_nulls(line.column)
        if known.height and len(lines) > 1:
            notes.append(
                {
                    "x": known["day"][-1],
                    "y": known[line.column][-1],
                    "text": line.name,
                    "xanchor": "left",
                    "xshift": 8,
                    "showarrow": False,
                    "font": {"size": 12, "color": palette.text},
                }
            )
    return drawn(
        palette,
        height,
        [
            _previous(days, lines[0], show, palette),
            *(_drawn_line(shown, line, show, palette) for line in lines),
        ],
        margin={"t": 12, "r": 56 if len(lines) > 1 else 8},
        x=few_days(days, 4),
        y={"nticks": 5, "ticklabelstandoff": 6, **axis},
        annotations=notes,
        hovermode="x unified",
    )


def _drawn_line(
    days: pl.DataFrame, line: Line, show: Callable[[float | None], str], palette: Palette
) -> dict[str, Any]:
    return {
        "type": "scatter",
        **dots(days[line.column], 4, is_marked=days.height <= 35),
        "x": days["day"].to_numpy(),
        "y": days[line.column].to_numpy(),
        "line": {"color": palette.area("effective"), "width": 2, "dash": line.dash},
        "connectgaps": False,
        "text": [show(value) for value in days[line.column]],
        "hovertemplate": f"{line.name} %{{text}}<extra></extra>",
    }


def _previous(
    days: pl.DataFrame, line: Line, show: Callable[[float | None], str], palette: Palette
) -> dict[str, Any]:
    values = days[f"previous_{line.column}"]
    return {
        "type": "scatter",
        **dots(values, 3, is_marked=False),
        "x": days["day"].to_numpy(),
        "y": values.to_numpy(),
        "line": {"color": palette.comparison, "width": 1, "dash": line.dash},
        "connectgaps": False,
        "text": [show(value) for value in values],
        "hovertemplate": f"previous {line.name} %{{text}}<extra></extra>",
    }
