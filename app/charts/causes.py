"""What stopped attempts: columns by day, and bars of what each domain of causes took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
import polars as pl

from app import words
from app.charts.canvas import axis, drawn, hatched
from app.charts.days import COLUMN_MS, day_axis, opacity
from app.palette import Palette, translucent

ROW: Final = 30
ATTRIBUTIONS: Final = ("infra", "scheduler", "service", "user", "unknown")
# the domains of each by their looks, which are the same on every page and in every scope
_DOMAINS: Final[Mapping[str, tuple[str, ...]]] = {
    "infra": ("gpu_hardware", "storage", "network", "host", "scheduler"),
    "scheduler": ("scheduler",),
    "user": ("user_code", "data", "host", "scheduler", "network"),
    "unknown": ("unknown", "cascade", "user_code", "data", "gpu_hardware", "network", "storage"),
}
_TINTS: Final = (1.0, 0.66, 0.42, 0.24)
_PATTERNS: Final = ("", "/", ".", "x", "-", "|", "+")
_COUNTS: Final = (0.84, 1.0)  # of the width: where the counts stand, beside the bars


@dataclass(frozen=True, slots=True)
class Shade:
    """How a domain of one attribution is drawn: a tint of the attribution's colour, a pattern."""

    attribution: str
    domain: str
    fill: str
    pattern: str


def shades(days: pl.DataFrame, palette: Palette) -> list[Shade]:
    """The look of every attribution and domain of `days`, in the order of the stack.

    `days`: attribution, failure_domain, interruptions. One domain of an attribution has its full
    colour; the others are lighter and hatched, so that colour alone tells nothing. Those that an
    installation adds look like what comes after all known ones.
    """
    totals = (
        days.group_by("attribution", "failure_domain")
        .agg(pl.col("interruptions").sum())
        .sort(
            pl.col("attribution").map_elements(_place, return_dtype=pl.Int64),
            -pl.col("interruptions"),
            "failure_domain",
        )
    )
    found: list[Shade] = []
    pairs = totals.select("attribution", "failure_domain").iter_rows()
    for attribution, group in groupby(pairs, key=lambda pair: pair[0]):
        domains = [domain for _, domain in group]
        places = _places(attribution, domains)
        found += [
            Shade(attribution, domain, *_look(palette, attribution, places[domain]))
            for domain in domains
        ]
    return found


def stopped_by_day(
    days: pl.DataFrame,
    spine: pl.DataFrame,
    previous: pl.DataFrame,
    palette: Palette,
    height: int,
) -> go.Figure:
    """Stacked columns of `days`: day, attribution, failure_domain, interruptions.

    `spine`: every day of the axis with is_complete; incomplete days are pale. `previous`: day
    (moved onto the axis) and counted, drawn as a thin grey line.
    """
    traces = [
        {
            "type": "bar",
            "x": part["day"].to_numpy(),
            "y": part["interruptions"].to_numpy(),
            "width": COLUMN_MS,
            "name": words.figure(shade.domain),
            "marker": {
                "color": shade.fill,
                "opacity": opacity(part.join(spine, on="day", how="left", maintain_order="left")),
                "line": {"color": palette.background, "width": 1},
                "pattern": hatched(shade.pattern, palette),
            },
            "hovertemplate": f"{words.figure(shade.domain)}, {words.figure(shade.attribution)}: "
            "%{y:,.0f}<extra></extra>",
        }
        for shade, part in _parts(days, palette)
    ]
    return drawn(
        palette,
        height,
        [*traces, *_earlier(previous, palette)],
        margin={"t": 12},
        x=day_axis(spine),
        y=_whole(days, previous),
        barmode="stack",
        hovermode="x unified",
    )


def _whole(days: pl.DataFrame, previous: pl.DataFrame) -> dict[str, Any]:
    """An axis of counts, which has no ticks between them."""
    stacked = days.group_by("day").agg(pl.col("interruptions").sum())["interruptions"].to_list()
    most = max([*stacked, *previous["counted"].to_list()], default=0)
    return {
        "rangemode": "tozero",
        "nticks": 5,
        "dtick": 1 if most <= 4 else None,
        "tickformat": ",d",
        "ticklabelstandoff": 6,
    }


def cost(causes: pl.DataFrame, palette: Palette) -> go.Figure:
    """A bar a domain, the dearest (else the most frequent) on top, cut into its causes; beside it
    a dot for the count.

    A click gives the cause, as `domain/category`, as its customdata.

    `causes`: failure_domain, failure_category, attribution, interruptions, lost_gpu_seconds,
    domain_interruptions, domain_lost_gpu_seconds; null: the cost is unknown, so no bar is drawn.
    """
    causes = causes.sort(
        -pl.col("domain_lost_gpu_seconds"),
        -pl.col("domain_interruptions"),
        "failure_domain",
        -pl.col("lost_gpu_seconds"),
        "failure_category",
        nulls_last=True,
    )
    domains = causes.unique("failure_domain", keep="first", maintain_order=True)
    rows = {name: row for row, name in enumerate(domains["failure_domain"])}
    known = domains["domain_lost_gpu_seconds"].drop_nulls() / 3600
    most = max(known.to_list(), default=0.0) or 1.0
    pieces = list(_pieces(causes.drop_nulls("lost_gpu_seconds"), rows, palette))
    # an axis without a trace is none to plotly, which would set the names beside the counts
    nothing = {"type": "bar", "orientation": "h", "y": [0], "x": [None], "hoverinfo": "skip"}
    return drawn(
        palette,
        ROW * max(len(rows), 1) + 34,
        [*(pieces or [nothing]), _counts(domains, palette)],
        margin={"t": 22, "b": 4},
        x={"domain": [0, _COUNTS[0] - 0.02], "range": [0, most * 1.25], "visible": False},
        y={
            "range": [max(len(rows), 1) - 0.5, -0.5],
            "tickvals": list(rows.values()),
            "ticktext": [words.figure(name, 28) for name in rows],
            "showgrid": False,
            "tickfont": {"color": palette.text, "size": 13},
            "ticklabelstandoff": 6,
        },
        xaxis2=axis(palette, domain=list(_COUNTS), range=[-0.15, 2.1], visible=False, anchor="y"),
        barmode="overlay",
        bargap=0.28,
        annotations=[
            *(
                {
                    "x": (row["domain_lost_gpu_seconds"] or 0.0) / 3600,
                    "y": rows[row["failure_domain"]],
                    "text": f"<b>{words.hours(row['domain_lost_gpu_seconds'])}</b>",
                    "xanchor": "left",
                    "xshift": 6,
                    "showarrow": False,
                    "font": {"size": 13, "color": palette.text},
                }
                for row in domains.iter_rows(named=True)
            ),
            *(
                {
                    "x": at,
                    "xref": "paper",
                    "y": 1,
                    "yref": "paper",
                    "xanchor": anchor,
                    "yanchor": "bottom",
                    "text": text,
                    "showarrow": False,
                    "font": {"size": 12, "color": palette.muted},
                }
                for at, anchor, text in ((0, "left", "GPU-hours lost"), (1, "right", "count"))
            ),
        ],
    )


def _parts(days: pl.DataFrame, palette: Palette) -> Iterator[tuple[Shade, pl.DataFrame]]:
    for shade in shades(days, palette):
        is_of_it = (pl.col("attribution") == shade.attribution) & (
            pl.col("failure_domain") == shade.domain
        )
        yield shade, days.filter(is_of_it).sort("day")


def _earlier(previous: pl.DataFrame, palette: Palette) -> list[dict[str, Any]]:
    if previous.is_empty():
        return []
    return [
        {
            "type": "scatter",
            "x": previous["day"].to_numpy(),
            "y": previous["counted"].to_numpy(),
            "mode": "lines",
            "line": {"color": palette.comparison, "width": 1},
            "hovertemplate": "previous period: %{y:,.0f}<extra></extra>",
        }
    ]


def _pieces(
    causes: pl.DataFrame, rows: Mapping[str, int], palette: Palette
) -> Iterator[dict[str, Any]]:
    base = dict.fromkeys(rows, 0.0)
    rank: Counter[tuple[str, str]] = Counter()
    for cause in causes.iter_rows(named=True):
        domain, hours = cause["failure_domain"], cause["lost_gpu_seconds"] / 3600
        kind = domain, cause["attribution"]
        fill, pattern = _look(palette, cause["attribution"], rank[kind])
        yield {
            "type": "bar",
            "orientation": "h",
            "y": [rows[domain]],
            "x": np.array([hours]),
            "base": np.array([base[domain]]),
            "name": words.figure(cause["failure_category"]),
            "customdata": [f"{domain}/{cause['failure_category']}"],
            "selected": {"marker": {"opacity": 1}},
            "unselected": {"marker": {"opacity": 1}},
            "marker": {
                "color": fill,
                "line": {"color": translucent(palette.text, 0.4), "width": 1},
                "pattern": hatched(pattern, palette),
            },
            "hovertext": [
                f"<b>{words.figure(cause['failure_category'])}</b>, "
                f"{words.figure(cause['attribution'])}<br>"
                f"{words.hours(cause['lost_gpu_seconds'])} GPU-hours, "
                f"{words.many(cause['interruptions'], 'interruption')}"
            ],
            "hoverinfo": "text",
        }
        rank[kind] += 1
        base[domain] += hours


def _counts(domains: pl.DataFrame, palette: Palette) -> dict[str, Any]:
    counts = domains["domain_interruptions"].to_list()
    return {
        "type": "scatter",
        "xaxis": "x2",
        "x": np.array(counts) / (max(counts, default=0) or 1),
        "y": list(range(len(counts))),
        "mode": "markers+text",
        "marker": {"size": 8, "color": palette.text},
        "text": [f" {words.count(count)}" for count in counts],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": palette.muted},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _places(attribution: str, domains: Iterable[str]) -> dict[str, int]:
    """Where each domain is among the looks of its attribution."""
    known = _DOMAINS.get(attribution, ())
    own = sorted(set(domains) - set(known))
    return {domain: place for place, domain in enumerate((*known, *own))}


def _place(attribution: str) -> int:
    return ATTRIBUTIONS.index(attribution) if attribution in ATTRIBUTIONS else len(ATTRIBUTIONS)


def _look(palette: Palette, attribution: str, place: int) -> tuple[str, str]:
    colour = palette.attributions.get(attribution, palette.attributions["unknown"])
    tint = _TINTS[min(place, len(_TINTS) - 1)]
    return translucent(colour, tint), _PATTERNS[place % len(_PATTERNS)]
