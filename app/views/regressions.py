"""Regressions: what got worse, is it real, and who should look? A list, and the evidence of one.

Which of the two is in the URL: with a `metric` it is the evidence of that series.
"""

from __future__ import annotations

from datetime import date

import polars as pl
import streamlit as st

from app import (
    data,
    filters,
    parts,
    regression_evidence,
    regression_list,
    regression_rows,
    regression_words,
    words,
)


def listed(team: str) -> None:
    """The list, a tab for each state."""
    found = data.frame(regression_rows.LIST, team, regression_rows.ANY)
    whose = "Fleet" if team == filters.FLEET else words.code(team)
    counts = {state: found.filter(state=state).height for state in regression_rows.STATES}
    told = ", ".join(
        f"{words.count(counts[state])} {name}"
        for state, name in zip(
            regression_rows.STATES, ("open", "gone within days", "held back", "closed"), strict=True
        )
    )
    parts.scope(f"{whose} \u00b7 {told}")
    about = f"Regressions of {team}"
    is_judged = regression_rows.is_judged(team)
    filters.say_if_refused(
        "tab", st.query_params.get("tab"), regression_list.TABS, next(iter(regression_list.TABS))
    )
    tabs = st.tabs(list(regression_list.TABS), key="tab", bind="query-params", on_change="rerun")
    for tab, (name, state) in zip(tabs, regression_list.TABS.items(), strict=True):
        if tab.open:
            with tab:
                if not is_judged:
                    st.caption(regression_words.UNJUDGED)
                    continue
                regression_list.show(found.filter(state=state), team, state, f"{about}, {name}")
    regression_list.quiet(team, about)


def evidence(team: str, metric: str, day: str | None) -> None:
    """The evidence of one regression, or a sentence where there is none."""
    # a link to the page that is shown would keep the rest of its address
    st.button(
        "All regressions",
        type="tertiary",
        icon=":material/arrow_back:",
        on_click=filters.go,
        args=(regression_list.PAGE, {}),
        kwargs={"team": team},
    )
    found = data.frame(regression_rows.SERIES, team, metric)
    if found.is_empty():
        nothing(team, metric)
        return
    asked = _day(day)
    row = regression_rows.nearest(found, asked)
    if day and asked is None:
        which = "what is open" if row["state"] == "open" else "the newest"
        st.warning(f"{words.code(day, 40)} is not a day. This is {which} of this series.")
    elif asked is not None and asked != row["started_on"]:
        st.warning(
            f"No regression of this series began on {words.day(asked)} {asked.year}. "
            f"This is the nearest, since {words.day(row['started_on'])}: late data can move a "
            "first day."
        )
    shown = regression_evidence.case(row)
    colours = parts.colours()
    regression_evidence.claim(shown)
    regression_evidence.series(shown, colours)
    left, right = st.columns(2, gap="small")
    with left:
        regression_evidence.phases(shown, colours)
    with right:
        regression_evidence.apart(shown, colours)
        regression_evidence.split(shown, colours)
    regression_evidence.jobs(shown)
    left, right = st.columns(2, gap="small")
    with left:
        regression_evidence.causes(shown)
    with right:
        regression_evidence.beside(shown)
    regression_evidence.gates(shown)
    others(found, row["started_on"])


def nothing(team: str, metric: str) -> None:
    """Say that nothing is told of a series, and why as far as that is known."""
    quiet = data.row(regression_rows.SMALLEST, team, metric)
    of = f"{words.code(metric, 80)} of {words.code(team)}"
    if not quiet:
        st.warning(f"There is no series {of} in this warehouse.")
        return
    st.warning(
        f"Nothing is told of {of}: {regression_words.quiet_reason(quiet['held_back_by'])}. "
        "If a link led here, the data has changed since it was sent."
    )


def others(found: pl.DataFrame, shown: date) -> None:
    """Links to what else is told of the same series."""
    rest = [row for row in found.iter_rows(named=True) if row["started_on"] != shown]
    if not rest:
        return
    st.caption("The same series at other times")
    with st.container(horizontal=True, gap="medium"):
        for row in rest[:8]:
            st.button(
                f"{words.day(row['started_on'])}, {row['state'].replace('_', ' ')}",
                key=f"evidence {row['started_on']}",
                type="tertiary",
                on_click=regression_list.look_at,
                args=(row,),
            )


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None


chosen = st.session_state.get("team") or filters.FLEET
try:
    if failure := regression_rows.failure():
        st.error(regression_words.unknown(failure))
    elif not regression_rows.is_told():
        st.caption(
            "This warehouse was published before regressions were looked for. "
            "Run `make ingest LOGS=...` once to have them found."
        )
    elif metric := st.query_params.get("metric"):
        evidence(chosen, metric, st.query_params.get("day"))
    else:
        listed(chosen)
except data.ViewFailed as failure:
    parts.failed(failure)
