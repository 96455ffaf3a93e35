"""The weekly digest as one HTML file: numbers, figures and tables, plotly included.

Opens without a network and asks for none: its policy forbids it. Every figure stands beside a table
with its numbers, for readers whose mail program runs no scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

import plotly.graph_objects as go
import polars as pl
from plotly.offline import get_plotlyjs

from app import kpis, words
from app.charts.cascade import cascade, marks_told
from app.charts.moved import moved
from app.charts.trend import ett_by_day
from app.digest import Digest, Number
from app.palette import LIGHT
from app.report_text import (
    about,
    days,
    freshness,
    no_regressions,
    noted,
    nothing,
    regression_lines,
    sorted_shares,
    which_causes,
)

_POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
_STYLE: Final = f"""
:root {{ color-scheme: light; }}
body {{ margin: 0 auto; max-width: 960px; padding: 28px 24px 48px; background: {LIGHT.background};
  color: {LIGHT.text}; font: 15px/1.45 "Source Sans 3", system-ui, sans-serif; }}
h1 {{ font-size: 1.6rem; margin: 0 0 4px; }}
h2 {{ font-size: 1.1rem; margin: 0; }}
p, ul {{ margin: 4px 0 8px; }}
.muted, td.muted {{ color: {LIGHT.muted}; }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px;
  margin: 16px 0; }}
.card {{ border: 1px solid {LIGHT.grid}; border-radius: 6px; padding: 14px 16px; margin: 12px 0;
  break-inside: avoid; }}
.numbers .card {{ margin: 0; padding: 10px 12px; }}
.value {{ font-size: 1.3rem; font-weight: 600; white-space: nowrap;
  font-variant-numeric: tabular-nums; }}
.better {{ color: {LIGHT.good}; }} .worse {{ color: {LIGHT.bad}; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: 0.9rem; }}
th {{ text-align: left; font-weight: 600; color: {LIGHT.muted}; }}
th, td {{ padding: 4px 10px 4px 0; border-bottom: 1px solid {LIGHT.grid}; vertical-align: top; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
td.name {{ overflow-wrap: break-word; min-width: 5rem; max-width: 24rem; }}
td.name:first-child {{ min-width: 10rem; }}
.figure {{ min-width: 540px; }}
details {{ margin-top: 8px; }} summary {{ color: {LIGHT.muted}; cursor: pointer; }}
@media print {{ body {{ padding: 0; }} details {{ display: none; }}
  .figure {{ min-width: 0; }} .scroll {{ overflow: visible; }} }}
"""
_DRAW: Final = """
for (const place of document.querySelectorAll("[data-figure]")) {
  const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
  Plotly.newPlot(place, figure.data, figure.layout, {responsive: true, displaylogo: false,
    modeBarButtons: [["toImage"]], toImageButtonOptions: {filename: place.dataset.name, scale: 2}});
}
"""


def page(digest: Digest) -> str:
    """The whole file."""
    title = f"ETT of {_whom(digest)}, week {digest.week}"
    cards = [
        _trend(digest),
        _where(digest),
        _moves(digest),
        _teams(digest),
        _regressions(digest),
        _causes(digest),
        _jobs(digest),
    ]
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1><p>{escape(about(digest, _name))}</p>",
            f'<p class="muted">{escape(freshness(digest))}</p>',
            f'<div class="numbers">{"".join(map(_number, digest.numbers))}</div>',
            *cards,
            f"<script>{get_plotlyjs()}</script><script>{_DRAW}</script></body></html>\n",
        ]
    )


def _number(number: Number) -> str:
    change = (
        f'<div class="{number.verdict}">{escape(number.change)} {number.verdict}</div>'
        if number.change
        else ""
    )
    return (
        f'<div class="card"><div title="{escape(number.measure.meaning)}">{escape(number.label)}'
        f'</div><div class="value">{escape(number.shown)}</div>{change}'
        f'<div class="muted">{escape(noted(number, words.whole))}</div></div>'
    )


def _trend(digest: Digest) -> str:
    marks = pl.DataFrame(
        {
            "day": digest.regressions["started_on"],
            "text": regression_lines(digest, words.whole),
        },
        schema={"day": pl.Date, "text": pl.String},
    ).filter(pl.col("day") >= digest.scope.first_day)
    is_beside = not digest.days_before["ett_ratio"].drop_nulls().is_empty()
    figure = ett_by_day(digest.days, digest.days_before, marks, digest.target, LIGHT, 260)
    rows = [
        (words.day(row["day"]), words.ratio(row["ett_ratio"]), words.ratio(row["before"]))
        for row in days(digest).iter_rows(named=True)
    ]
    return _card(
        "ETT by day",
        "On which days was the target missed, and by how much?"
        + " The week before is grey." * is_beside,
        _figure(figure, "ett-by-day", "ETT by day against the target", digest),
        _hidden(_table(("day", "ETT", "week before"), rows)),
    )


def _where(digest: Digest) -> str:
    whole = float(digest.areas["amount"].sum())
    if not whole:
        why = nothing(digest, "No attempt ran in this week.")
        return _card("Where the GPU-hours went", "", f"<p>{escape(why)}</p>")
    figure = cascade(
        kpis.labelled(digest.areas, digest.shares),
        LIGHT,
        "all GPU-hours",
        f"<b>{words.hours(whole)}</b>",
    )
    rows = [
        (
            words.area(row["area"]),
            words.hours(row["amount"]),
            words.ratio(row["share_ratio"]),
            words.points(row["difference_ratio"]),
        )
        for row in sorted_shares(digest).iter_rows(named=True)
    ]
    return _card(
        "Where the GPU-hours went",
        f"What took its part, from all to effective? {marks_told(digest.areas)}".rstrip(),
        _figure(figure, "where", "GPU-hours by area, from all to effective", digest),
        _hidden(_table(("area", "GPU-hours", "share", "change"), rows)),
    )


def _moves(digest: Digest) -> str:
    if digest.change is None:
        why = f"There is nothing to compare with: {digest.why_unmoved}."
        return _card("What moved ETT", "", f"<p>{escape(why)}</p>")
    if digest.moves.is_empty():
        return _card("What moved ETT: 0.00 pp", "", "<p>Nothing moved it.</p>")
    figure = moved(digest.moves, LIGHT)
    rows = [
        ("job mix" if area == "job_mix" else words.area(area), words.points(ratio, 2))
        for area, ratio in digest.moves.select("area", "moved_ratio").iter_rows()
    ]
    return _card(
        f"What moved ETT: {words.points(digest.change, 2)}",
        "Which areas lifted it, which pulled it down? Job mix: other jobs ran than the week "
        "before.",
        _figure(figure, "moved", "Parts of the change of ETT", digest),
        _hidden(_table(("area", "part"), rows)),
    )


def _teams(digest: Digest) -> str:
    if digest.teams.is_empty():
        return ""
    rows = [
        (
            row["team"],
            words.ratio(row["ett_ratio"]),
            words.change(row["ett_ratio"], row["previous_ett_ratio"]) or words.UNKNOWN,
            words.hours(row["lost_gpu_seconds"]),
            words.hours(row["gpu_seconds"]),
        )
        for row in digest.teams.iter_rows(named=True)
    ]
    head = ("team", "ETT", "change", "GPU-hours lost", "of GPU-hours")
    ordered = "by name" if digest.silent else "by GPU-hours lost"
    return _card("Teams", f"Whose is it? Sorted {ordered}.", _table(head, rows))


def _regressions(digest: Digest) -> str:
    lines = regression_lines(digest, words.whole)
    listed = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return _card(
        "Regressions of this week",
        "What got worse, and is it real?",
        f"<ul>{listed}</ul>" if lines else f"<p>{escape(no_regressions(digest))}</p>",
    )


def _causes(digest: Digest) -> str:
    rows = [
        (
            f"{row['failure_domain']}/{row['failure_category']}",
            row["attribution"],
            words.count(row["interruptions"]),
            words.hours(row["lost_gpu_seconds"]),
        )
        for row in digest.causes.iter_rows(named=True)
    ]
    head = ("cause", "attributed to", "interruptions", "GPU-hours lost")
    content = _table(head, rows) if rows else "<p>Nothing was interrupted.</p>"
    return _card("What stopped jobs", which_causes(digest) if rows else "", content)


def _jobs(digest: Digest) -> str:
    rows = [
        (
            row["job_id"],
            row["team"],
            words.count(row["gpus"]),
            words.count(row["attempts"]),
            words.hours(row["lost_gpu_seconds"]),
        )
        for row in digest.jobs.iter_rows(named=True)
    ]
    head = ("job", "team", "GPUs", "attempts", "GPU-hours lost")
    why = nothing(digest, "No job lost GPU-hours.")
    content = _table(head, rows) if rows else f"<p>{escape(why)}</p>"
    return _card("Jobs that lost most", "Which should someone look at first?", content)


def _card(title: str, question: str, *content: str) -> str:
    asked = f'<p class="muted">{escape(question)}</p>' if question else ""
    return f'<section class="card"><h2>{escape(title)}</h2>{asked}{"".join(content)}</section>'


def _figure(figure: go.Figure, name: str, alt: str, digest: Digest) -> str:
    # within a script element only `<` could end it, or open another
    data = str(figure.to_json()).replace("<", "\\u003c")
    height = int(figure.layout.height)
    file = digest.scope.stem("report", name)
    return (
        f'<script type="application/json" id="{name}">{data}</script>'
        f'<div class="scroll"><div class="figure" role="img" aria-label="{escape(alt)}" '
        f'data-figure="{name}" data-name="{file}" style="height:{height}px"></div></div>'
    )


def _hidden(table: str) -> str:
    return f"<details><summary>The numbers</summary>{table}</details>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Names to the left, numbers to the right: a column is of names if its cells have no figure."""
    listed = [list(row) for row in rows]
    is_name = [_is_name(column, listed) for column in range(len(head))]
    titles = "".join(
        f"<th{'' if named else ' class=n'}>{escape(title)}</th>"
        for title, named in zip(head, is_name, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td class={'name' if named else 'n'}>{escape(words.clipped(cell, 256))}</td>"
            for cell, named in zip(row, is_name, strict=True)
        )
        + "</tr>"
        for row in listed
    )
    return f'<div class="scroll"><table><tr>{titles}</tr>{body}</table></div>'


def _is_name(column: int, rows: Sequence[Sequence[str]]) -> bool:
    return column == 0 or any(row[column][:1].isalpha() for row in rows)


def _whom(digest: Digest) -> str:
    return "the fleet" if digest.scope.team == "fleet" else _name(digest.scope.team)


def _name(text: str) -> str:
    return words.clipped(text, 80)
