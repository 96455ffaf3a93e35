"""The preemption ratio against how many jobs ran: a busier fleet, or another scheduler?"""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import drawn
from app.charts.days import SHARE_TICKS
from app.palette import Palette


def preemption_by_load(days: pl.DataFrame, palette: Palette, height: int) -> go.Figure:
    """A dot a day, the fitted line, the last seven days ringed.

    `days`: day, jobs_running, attempts_ended, preempted, preemption_ratio, is_recent, fitted_ratio
    (null: no line).
    """
    highest = float(days["preemption_ratio"].to_numpy().max()) if days.height else 0.0
    jobs = days["jobs_running"].to_numpy()
    return drawn(
        palette,
        height,
        [
            *_line(days, palette),
            *(
                _dots(part, bool(is_recent[0]), palette)
                for is_recent, part in sorted(days.partition_by("is_recent", as_dict=True).items())
            ),
        ],
        margin={"t": 12},
        x={
            "title": {"text": "jobs running", "font": {"size": 12}, "standoff": 6},
            "nticks": 7,
            # else a number would be at half a job too
            "dtick": 1 if days.height and jobs.max() - jobs.min() <= 5 else None,
            "tickformat": ",d",
            "showline": True,
            "ticklabelstandoff": 4,
        },
        y={
            "range": [-0.03 * (highest or 0.1), (highest or 0.1) * 1.12],
            **SHARE_TICKS,
            "ticklabelstandoff": 6,
        },
    )


def _line(days: pl.DataFrame, palette: Palette) -> list[dict[str, Any]]:
    fitted = days.drop_nulls("fitted_ratio").sort("jobs_running")
    if fitted.is_empty():
        return []
    return [
        {
            "type": "scatter",
            "name": "fitted",
            "x": fitted["jobs_running"].to_numpy(),
            "y": np.maximum(fitted["fitted_ratio"].to_numpy(), 0.0),
            "mode": "lines",
            "line": {"color": palette.comparison, "width": 1.5, "dash": "dash"},
            "hoverinfo": "skip",
        }
    ]


def _dots(days: pl.DataFrame, is_recent: bool, palette: Palette) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "last 7 days" if is_recent else "before",
        "x": days["jobs_running"].to_numpy(),
        "y": days["preemption_ratio"].to_numpy(),
        "mode": "markers",
        "marker": {
            "size": 10 if is_recent else 7,
            "color": palette.attributions["scheduler"],
            "opacity": 1.0 if is_recent else 0.6,
            "line": {"color": palette.text, "width": 2 if is_recent else 0},
        },
        "hovertext": [
            f"<b>{words.day(day)}</b><br>{words.ratio(ratio)}: {words.count(preempted)} of "
            f"{words.many(ended, 'end')}<br>{words.many(jobs, 'job')} running"
            for day, ratio, preempted, ended, jobs in days.select(
                "day", "preemption_ratio", "preempted", "attempts_ended", "jobs_running"
            ).iter_rows()
        ],
        "hoverinfo": "text",
    }
