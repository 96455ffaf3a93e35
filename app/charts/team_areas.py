"""Teams by areas: which share of its time each team lost to what. A cell can be clicked."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.heat import ROW, heat
from app.palette import Palette


def team_areas(
    cells: pl.DataFrame, teams: Sequence[str], areas: Sequence[str], palette: Palette, marked: str
) -> go.Figure:
    """`cells`: team, area, share_ratio, hover. A click gives team and area as its customdata."""
    figure = heat(
        cells.select(row="team", column="area", value="share_ratio", hover="hover"),
        teams,
        areas,
        palette,
        lambda share: words.ratio(share).removesuffix(" %"),
        marked,
    )
    column, row = ({name: place for place, name in enumerate(names)} for names in (areas, teams))
    figure.listed["layout"]["xaxis"] |= {
        "ticktext": [_broken(name, is_marked=name == marked) for name in areas],
        "tickfont": {"color": palette.text, "size": 11},
        "range": [-0.5, len(areas) - 0.5],
        "showline": False,
    }
    figure.listed["layout"]["yaxis"] |= {
        "range": [len(teams) - 0.5, -0.5],
        "autorange": False,
        "ticktext": [words.figure(name, 18) for name in teams],  # the areas need the width
    }
    figure.listed["data"].append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [column[name] for name in cells["area"]],
            "y": [row[name] for name in cells["team"]],
            "customdata": cells.select("team", "area").rows(),
            "hovertext": cells["hover"].to_list(),
            "hoverinfo": "text",
            "marker": {"size": ROW - 4, "symbol": "square", "opacity": 0},
        }
    )
    return figure


def _broken(area: str, *, is_marked: bool) -> str:
    name = words.figure(words.area(area)).replace("_", "_<br>")
    return f"<b>{name}</b>" if is_marked else name
