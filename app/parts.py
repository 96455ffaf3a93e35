"""The pieces that every page is made of: header, freshness, cards, charts with their footer.

Draws what it is given; runs no select of its own but the one of freshness.
"""

from __future__ import annotations

import html
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import plotly.graph_objects as go
import polars as pl
import streamlit as st
from polars import selectors

from app import data, filters, palette, shown_sql, words
from deploy.thresholds import Thresholds, UnusableSettings, read_thresholds
from queries import model

SPARKLINE, STANDARD, EVIDENCE = 96, 280, 420
LABELLED = 340  # the least width of a figure with long texts inside
# a table, or how to make it: what only the CSV holds is read when somebody takes it
Table = pl.DataFrame | Callable[[], pl.DataFrame]
_A_DAY_LATE: Final = 26  # hours
_DATA_PAGE: Final = "views/data_page.py"
_JOB_PAGE: Final = "views/job.py"
# A source that spoke in the last 7 days and then stopped (METRICS.md section 5).
_BEHIND: Final = """
select source, data_at
from sources
where data_at between
    (select data_at from publication) - interval 7 days
    and (select data_at from publication) - interval 26 hours
order by data_at
"""

# Whose sources stopped longer ago hold no day back any more, and nobody ends them.
_UNHEARD: Final = """
select count(*) as attempts, max(ended_at) as heard_at
from attempts
where is_open and ended_at < (select data_at from publication) - interval 7 days
"""

# Streamlit leaves six empty lines above every page, and a card's caption as far from its title. Its
# rings around what has the focus are half transparent, and many links have none; where a system
# sets the colours, the rings vanish, and so do what is chosen, switches and sliders. What does not
# fit into a narrow number, it cuts. Its own CSV of a table keeps names that are formulas, and does
# not say what it is of: the footer has one that does.
_STYLE: Final = """<style>
[data-testid="stHeader"] {height: 3rem; min-height: 3rem;}
[data-testid="stMainBlockContainer"] {padding: 3.25rem 2.5rem 4rem; max-width: 1560px;}
[data-testid="stHeading"] :is(h1, h2) {padding-top: 0;}
[data-testid="stMetricValue"] {font-variant-numeric: tabular-nums;}
[data-testid="stCaptionContainer"] p {line-height: 1.4;}
div[data-testid="stCaptionContainer"] {opacity: 0.8;}
[data-testid="stPageLink-NavLink"] :is(span, p) {white-space: normal; line-height: 1.4;}
[data-testid="stHeading"] code, [data-testid="stBaseButton-tertiary"] code,
[data-testid="stBaseButton-secondary"] code
    {font: inherit; color: inherit; background: none; padding: 0;}
[data-testid="stSidebar"][data-collapsed="true"], [data-testid="stSidebar"][data-collapsed="true"] *
    {visibility: hidden !important;}
[data-testid="stElementToolbar"] button[aria-label^="Download as CSV"] {display: none;}
[class*="st-key-foot"] button em
    {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);}
[class*="st-key-scrolls-"] {overflow-x: auto;}
[class*="st-key-scrolls-760-"] > [data-testid="stElementContainer"] {min-width: 760px;}
[class*="st-key-scrolls-340-"] > [data-testid="stElementContainer"] {min-width: 340px;}
:is([data-testid="stMetric"], [data-testid="stBaseButton-tertiary"]) .stMarkdownEllipsis,
:is([data-testid="stMetric"], [data-testid="stBaseButton-tertiary"]) .stMarkdownEllipsis p
    {white-space: normal; overflow: visible;}
[data-testid="stBaseButton-tertiary"] {text-align: left;}
[data-testid="stBaseButton-tertiary"] code {white-space: normal; overflow-wrap: anywhere;}
[data-testid="stMetric"] div:has(> [data-testid="stMetricDelta"]) {flex-wrap: wrap;}
:focus-visible:not(input, canvas) {outline: 2px solid #257DDA !important; outline-offset: 1px;}
[data-testid="stMain"]:focus-visible {outline-offset: -2px;}
@media (forced-colors: active) {
:focus-visible {outline-color: Highlight !important;}
[role="radio"][aria-checked="true"], [role="tab"][aria-selected="true"],
[data-testid="stCheckbox"] label > span + div, [data-testid="stSlider"] [role="group"]
    {forced-color-adjust: none;}
}
@media (max-width: 640px) {
[data-testid="stMainBlockContainer"] {padding: 3.5rem 1rem 3rem;}
[data-testid="stMain"] [data-testid="stPageLink-NavLink"] {padding-left: 0;}
}
@media print {
@page {size: A4 portrait; margin: 9mm;}
[data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"],
[class*="st-key-foot"], [data-testid="stMain"] .stToggle {display: none !important;}
[data-testid="stMainBlockContainer"] {width: var(--screen-width) !important; max-width: none;
    padding-top: 0; zoom: var(--paper-zoom);}
[data-testid="stVerticalBlock"], [data-testid="stMetric"] {break-inside: avoid;}
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] {break-inside: auto;}
.modebar-container {display: none;}
}
</style>"""
# At which angles plotly's patterns draw lines, in CSS' degrees.
_ANGLES: Final[Mapping[str, tuple[int, ...]]] = {
    "/": (-45,),
    "|": (90,),
    "-": (0,),
    "x": (45, -45),
    "+": (0, 90),
}
# A gauge, drawn here: an icon of streamlit's font would be fetched from another machine.
_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32">'
    '<path d="M5 23a12 12 0 1 1 22 0" fill="none" stroke="#257DDA" stroke-width="5"/>'
    '<path d="M16 22l7-10" stroke="#BA4704" stroke-width="3.5" stroke-linecap="round"/></svg>'
)


def frame() -> None:
    """What the theme's settings cannot say."""
    st.set_page_config(layout="wide", page_icon=_ICON, initial_sidebar_state=250)
    st.html(_STYLE)


def colours() -> palette.Palette:
    """The palette of the theme that the reader looks at."""
    return palette.of(st.context.theme.type)


def header(title: str, question: str, now: datetime, *, links_to_data: bool = True) -> None:
    """Title, the one question of the page, and how fresh its numbers are. `now` is aware.

    Fresh: a small link at the right. Old: a warning, then an error, over the whole width.
    """
    published = data.row("select * from publication")
    ends, published_at = published.get("data_at"), published.get("published_at")
    age = now - ends.replace(tzinfo=UTC) if ends else timedelta(0)
    hours = age / timedelta(hours=1)
    old, stale = limits().stale_hours, limits().very_stale_hours
    tail = _published(published, now) if published_at else ""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"
    ):
        with st.container(width="content", gap=None):
            st.title(title, anchor=False)
            st.caption(question)
        if hours < old:
            reach = f"Data to {words.instant(ends)} UTC" if ends else "No event has been read yet"
            if links_to_data:
                st.page_link(_DATA_PAGE, label=f":small[:gray[{reach} \u00b7 {tail}]]", icon="")
            else:
                st.caption(f"{reach} \u00b7 {tail}", width="content")
    passed = words.duration(age.total_seconds())
    if ends and hours >= stale:
        st.error(f"No event for {passed}: numbers end on {words.instant(ends)} UTC, {tail}.")
    elif ends and hours >= old:
        missing = "Yesterday is missing" if hours >= _A_DAY_LATE else f"No event for {passed}"
        st.warning(f"{missing}. Numbers end on {words.instant(ends)} UTC, {tail}.")
    for source in data.frame(_BEHIND).iter_rows(named=True):
        st.warning(
            f"Source {words.code(source['source'])} ends on {words.instant(source['data_at'])} UTC,"
            " more than a day before the newest one."
        )
    _tell_unheard()


def _tell_unheard() -> None:
    unheard = data.row(_UNHEARD)
    if not (attempts := unheard.get("attempts")):
        return
    count, their, they = ("count", "their", "they") if attempts > 1 else ("counts", "its", "it")
    st.caption(
        f"{words.many(attempts, 'attempt')} {count} as running with nothing known after "
        f"{words.instant(unheard['heard_at'])} UTC: one of {their} sources has been silent for "
        f"more than 7 days. No number holds what {they} did since; *Data & definitions* lists "
        "when each source last spoke."
    )


def limits() -> Thresholds:
    """What the alerts are set to, for pages that speak of the same.

    Settings that no alert can be made from are `make deploy`'s to refuse: readers have their pages.
    """
    return _limits(os.environ.get("ETT_CONFIG") or "ett.toml")


@cache
def _limits(config: str) -> Thresholds:
    try:
        return read_thresholds(Path(config))
    except UnusableSettings as error:
        logging.getLogger(__name__).warning("%s", error)
        return Thresholds()


def _published(published: Mapping[str, Any], now: datetime) -> str:
    at, rejected = published["published_at"], published["rejected"]
    share = rejected / ((rejected + published["events"]) or 1)
    ago = words.age(now - at.replace(tzinfo=UTC))
    return f"published {at:%H:%M} UTC, {ago} \u00b7 {words.ratio(share)} of rows set aside"


@st.fragment(run_every="20s")
def newer(shown: Path, theme: str | None) -> None:
    """A line to click once another file is published than the one this page shows.

    Draws the page anew where the reader has switched from `theme`: figures have its colours.
    """
    if st.context.theme.type != theme:
        st.rerun()
    try:
        current = data.published()
    except data.NothingPublished:
        return
    if current != shown and st.button(
        "Newer data was published. Show it", icon=":material/update:", key="newer data"
    ):
        st.rerun()


def scope(line: str, write: Callable[[str], object] = st.markdown) -> None:
    """Write the line that says what is shown; server.py tells its changes to screen readers."""
    with st.container(key="scope"):
        write(line)


@contextmanager
def card(title: str, question: str, height: int = STANDARD) -> Iterator[None]:
    """A bordered card. A view that fails inside takes down this card only."""
    with st.container(border=True, gap="xsmall", height="stretch"):
        with st.container(gap=None):
            st.header(title, anchor=False)
            st.caption(question)
        try:
            with st.skeleton(height):
                yield
        except data.ViewFailed as failure:
            failed(failure)


def failed(failure: data.ViewFailed) -> None:
    """Say which view could not be read, and where to look. Why may name files: that is logged."""
    logging.getLogger(__name__).error("the view %s", failure)
    st.error(f"The view `{failure.view}` could not be read. The dashboard's log says why.")
    st.page_link(_DATA_PAGE, label="Look at Data & definitions")


def chart(
    figure: go.Figure,
    *,
    alt: str,
    stem: str,
    table: Table,
    about: str,
    measures: Sequence[str] = (),
    sql: str = "",
    values: Sequence[object] = (),
    on_pick: Callable[[Any], None] | None = None,
    can_pick: bool = False,
    least_width: int = 0,
) -> Any:
    """A figure with its footer: CSV of the table behind it, and how it is computed; `values` as of
    `footer`.

    Returns the customdata of the mark that was clicked (None: no mark) where `can_pick`; `on_pick`
    is called with it before the page runs again, and may set filters. On a screen that is narrower
    than `least_width` the figure scrolls.
    """
    key = f"figure {stem}"

    def picked() -> None:
        chosen = _customdata(st.session_state[key])
        if chosen is not None and on_pick is not None:
            on_pick(chosen)

    if on_pick or can_pick:
        # as streamlit sets it: a figure that changes is drawn again
        figure.listed["layout"]["clickmode"] = "event+select"
    with st.container(key=f"scrolls {least_width} {stem}") if least_width else nullcontext():
        state = st.plotly_chart(
            figure,
            theme=None,
            key=key,
            alt=alt,
            config=_plotly_config(stem),
            on_select=picked if on_pick else "rerun" if can_pick else "ignore",
            selection_mode="points",
        )
    footer(stem=stem, table=table, about=about, measures=measures, sql=sql, values=values)
    return _customdata(state) if can_pick else None


def _customdata(state: Any) -> Any:
    points = state["selection"]["points"]
    return points[0].get("customdata") if points else None


def table_height(rows: int, most: int) -> int:
    """Pixels of a table with so many rows, 33 each at the theme's font size; past `most` it
    scrolls.
    """
    return min(most, 36 + 33 * rows)


def jobs_table(
    table: pl.DataFrame,
    *,
    key: str,
    most: int,
    alt: str,
    columns: Mapping[str, Any],
    order: Sequence[str] | None = None,
) -> None:
    """A table with a job_id in each row; a selected row opens the job, at its attempt where the
    table names it.

    `most`: its height in pixels at the most. `columns`: how those beside job_id are shown.
    """

    def picked() -> None:
        # of the rows that were on the screen: by now a newer publish may have others here
        for place in st.session_state[key]["selection"]["rows"]:
            row = table.row(place, named=True)
            attempt = {"attempt": str(row["attempt"])} if "attempt" in row else {}
            filters.go(_JOB_PAGE, {"job": row["job_id"], **attempt})

    st.dataframe(
        table,
        key=key,
        on_select=picked,
        selection_mode="single-row",
        height=table_height(table.height, most),
        hide_index=True,
        lazy=False,
        placeholder=words.UNKNOWN,
        alt=alt,
        column_order=order,
        column_config={
            "job_id": st.column_config.TextColumn("job", width="medium", pinned=True),
            **columns,
        },
    )


def most_of(amounts: pl.Series) -> float:
    """Where the bars of a column end; of a column without any amount, at 1."""
    return float(amounts.fill_null(0).to_numpy().max()) or 1.0


def caption(*sentences: str) -> None:
    """Those of the sentences that are not empty, as one caption."""
    if told := " ".join(filter(None, sentences)):
        st.caption(told)


def legend(areas: Sequence[str]) -> None:
    """Colours and patterns of these areas with their names, in lifecycle order."""
    colour = colours()
    order = [name for name in palette.AREA_ORDER if name in areas]
    unknown = [name for name in areas if name not in order]
    items = "".join(
        f'<span style="white-space:nowrap"><span style="'
        f'{swatch(colour.area(name), palette.AREA_PATTERN.get(name, ""), colour)}"></span>'
        f"{html.escape(words.area(name))}</span>"
        for name in [*order, *unknown]
    )
    st.html(
        '<div style="display:flex;flex-wrap:wrap;gap:4px 16px;font-size:0.85rem;'
        f'color:{colour.muted}">{items}</div>'
    )


def swatch(fill: str, pattern: str, colour: palette.Palette) -> str:
    """The style of a square beside a name: its fill under a pattern of plotly's."""
    line = palette.translucent(colour.text, 0.45)
    return (
        "display:inline-block;width:12px;height:12px;margin-right:6px;vertical-align:-1px;"
        "forced-color-adjust:none;"
        f"border:1px solid {line};{_hatch(pattern, line)}background-color:{fill};"
    )


def _hatch(pattern: str, line: str) -> str:
    if pattern == ".":
        return f"background:radial-gradient(circle,{line} 1px,transparent 1.3px) 0 0/4px 4px;"
    lines = [
        f"repeating-linear-gradient({angle}deg,{line} 0 1px,transparent 1px 4px)"
        for angle in _ANGLES.get(pattern, ())
    ]
    return f"background-image:{','.join(lines)};" if lines else ""


def footer(
    *,
    stem: str,
    table: Table,
    about: str,
    measures: Sequence[str] = (),
    sql: str = "",
    values: Sequence[object] = (),
) -> None:
    """CSV and the explanation under a chart or a table. `values`: what the select is shown with,
    where the page has read more with it than it draws here.
    """
    _footer(stem, table, about, measures, data.shown(sql, *values))


@st.fragment
def _footer(stem: str, table: Table, about: str, measures: Sequence[str], sql: str) -> None:
    """A fragment: the explanation is written when it is opened, and nothing else runs then."""
    shown = copy_context()  # of this publish, also when it is no longer the newest
    # for who hears the page: it has several of each
    of = f"*{_chart(stem)}*"
    with st.container(
        horizontal=True, gap="small", vertical_alignment="center", key=f"foot {stem}"
    ):
        st.download_button(
            f"CSV {of}",
            lambda: shown.copy().run(csv, table, about),
            file_name=f"{stem}.csv",
            mime="text/csv",
            key=f"csv {stem}",
            on_click="ignore",
            type="tertiary",
            icon=":material/download:",
        )
        explained = st.popover(
            f"How it is computed {of}",
            type="tertiary",
            icon=":material/function:",
            key=f"how {stem}",
            on_change="rerun",
        )
    if explained.open:
        with explained:
            explain(measures, sql)


def _chart(stem: str) -> str:
    """What a file of this name holds: the last word of it, but for team and days."""
    scoped = re.fullmatch(r"(.+?)_[^_]+_\d{8}_\d{8}", stem)
    return (scoped[1] if scoped else stem).rpartition("_")[2].replace("-", " ")


def explain(measures: Sequence[str], sql: str) -> None:
    for key in measures:
        definition(words.glossary()[key])
    if sql:
        st.caption(
            "The select behind it, with the values of this page: it runs on a published file"
        )
        st.code(sql, language="sql")
    for view in views():
        if re.search(rf"\b(from|join)\s+{view.name}\b", sql):
            st.caption(f"The view `{view.name}` that it reads")
            view_text(view, sql)
    st.caption("PNG: the camera in the corner of the chart.")


def views() -> tuple[model.Model, ...]:
    """What is published, each after every view that it reads."""
    return model.models("serving", "serving/regressions")


def view_text(view: model.Model, select: str = "") -> None:
    """How a view is computed; `select` is what reads it here, empty where nothing does.

    What is in the language sql runs on a published file. The rest is marked, and is for reading.
    """
    inner = shown_sql.of_view(view, views(), select)
    if inner is not None:
        st.code(inner, language="sql", height=240)
        return
    if not select or f"{view.name}(" not in select:
        newest = data.row("select last_complete_day as day from publication")["day"]
        values = {name: shown_sql.literal(each) for name, each in any_values(newest).items()}
        st.code(shown_sql.of_all(view, values), language="sql")
    st.caption("How a publish computes it. Some of what this reads is not in a published file.")
    st.code(view.sql.strip(), language=None, height=240)


def any_values(newest: date | None) -> dict[str, object]:
    """Values for the parameters of any view: the fleet's last 28 days, beside those before."""
    day, month = newest or date(2026, 1, 1), timedelta(days=28)
    return {
        "chosen_team": "fleet",
        "chosen_workload": "all",
        "chosen_weight": "gpu",
        "by_weight": "gpu",
        "chosen_attribution": "all",
        "chosen_area": "all",
        "first_day": day - month + timedelta(days=1),
        "last_day": day,
        "before_first": day - 2 * month + timedelta(days=1),
        "before_last": day - month,
    }


def definition(measure: words.Measure) -> None:
    """A measure of the glossary, in a paragraph."""
    better = "" if measure.better == "neither" else f" Better {measure.better}."
    st.markdown(
        f"**{measure.label}.** {measure.meaning}{better}  \n"
        f":small[:gray[= {measure.formula}, `{measure.view}.{measure.key}`]]"
    )


def csv(table: Table, about: str) -> bytes:
    """The table as CSV under a comment line that says what it is of; heads of times name the zone.

    The warehouse keeps times in UTC.
    """
    rows = table() if callable(table) else table
    times = rows.select(selectors.datetime()).columns
    text = pl.col(pl.String).map_elements(words.cell, return_dtype=pl.String)
    told = rows.with_columns(text).rename({name: f"{name}_utc" for name in times})
    return f"{words.comment(about, 400)}\n{told.write_csv()}".encode()


def _plotly_config(stem: str) -> dict[str, Any]:
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"filename": stem, "format": "png", "scale": 2},
        "responsive": True,
    }
