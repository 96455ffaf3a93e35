"""The list of Regressions: cards where the screen is narrow, a table where it is wide.

Draws what the page selects; both are on the page, and the style shows one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl
import streamlit as st

from app import data, filters, parts, regression_rows, regression_words, words

PAGE: Final = "views/regressions.py"
TABS: Final[Mapping[str, str]] = {
    "Open": "open",
    "Incidents": "incident",
    "Held back": "held_back",
    "Closed": "closed",
}
_OVER: Final = ("incident", "closed")
_MOST_CARDS: Final = 25
_STYLE: Final = """<style>
@media (max-width: 760px) {[class*="st-key-wide-list"] {display: none;}}
@media (min-width: 761px) {[class*="st-key-narrow-list"] {display: none;}}
</style>"""
_EMPTY: Final[Mapping[str, str]] = {
    "open": "Nothing is open: no series is worse than usual beyond what chance would do. "
    "What each series could have shown is under Quiet series.",
    "incident": "Nothing got worse and went away by itself.",
    "held_back": "Nothing came near: no series failed at its last gate.",
    "closed": "Nothing that was open has closed yet.",
}
_SAYS: Final[Mapping[str, str]] = {
    "open": "Got worse, is proven, and goes on.",
    "incident": "Got worse and went away by itself within days.",
    "held_back": "Near misses, and the gate that each of them did not pass.",
    "closed": "Over: what was open, and shifts of the job mix.",
}


def link(row: Mapping[str, Any]) -> dict[str, str]:
    """Where the evidence of a regression is."""
    return {"team": row["team"], "metric": row["metric"], "day": row["started_on"].isoformat()}


def look_at(row: Mapping[str, Any]) -> None:
    """Open the evidence, from a callback: the team of a bound widget cannot be set by a link."""
    parameters = link(row)
    team = parameters.pop("team")
    filters.go(PAGE, parameters, team=team)


def show(found: pl.DataFrame, team: str, state: str, about: str) -> None:
    """What is in one state, the dearest first; `found` is of LIST for this team."""
    if found.is_empty():
        st.caption(_EMPTY[state])
        return
    st.html(_STYLE)
    is_weighed = found["lost_gpu_seconds_per_day"].null_count() < found.height
    ordered = "Sorted by GPU-hours a day" if is_weighed else "The newest first: no cost is known"
    st.caption(f"{_SAYS[state]} {ordered}.")
    with st.container(key=f"wide list {state}"):
        _table(found, state, about)
    with st.container(key=f"narrow list {state}"):
        for row in found.head(_MOST_CARDS).iter_rows(named=True):
            _card(row)
        if found.height > _MOST_CARDS:
            st.caption(f"{found.height - _MOST_CARDS} more are in the CSV.")
    parts.footer(
        stem=f"ett_regressions_{state}",
        table=found,
        about=about,
        sql=regression_rows.LIST,
        values=(team, state),
    )


def _table(found: pl.DataFrame, state: str, about: str) -> None:
    rows = list(found.iter_rows(named=True))
    shown = pl.DataFrame(
        {
            "severity": [regression_words.shape(row["severity"]) for row in rows],
            "since": found["started_on"],
            "team": [regression_words.whose(row["team"]) for row in rows],
            "measure": [regression_words.measure(row["metric"]) for row in rows],
            f"before \u2192 {'during' if state in _OVER else 'now'}": [
                regression_words.change_of(row) for row in rows
            ],
            "change": [regression_words.change(row["change_ratio"]) for row in rows],
            "GPU-hours a day": found["lost_gpu_seconds_per_day"] / 3600,
            "verdict": [regression_words.verdict(row) for row in rows],
            **_of_state(found, state, rows),
        }
    )
    most = float(shown["GPU-hours a day"].fill_null(0).to_numpy().max())
    key = f"regressions {state}"

    def picked() -> None:
        for place in st.session_state[key]["selection"]["rows"]:
            look_at(rows[place])

    st.dataframe(
        shown,
        key=key,
        on_select=picked,
        selection_mode="single-row",
        height=parts.table_height(found.height, 560),
        hide_index=True,
        lazy=False,
        placeholder=words.UNKNOWN,
        alt=f"{words.many(found.height, 'regression')}. {about}",
        column_config={
            "severity": st.column_config.TextColumn(width="small"),
            **{
                name: st.column_config.DateColumn(format="D MMM YYYY")
                for name in ("since", "last day", "closed")
            },
            "GPU-hours a day": st.column_config.ProgressColumn(
                format="compact", min_value=0, max_value=max(most, 1.0), width=130
            ),
        },
    )
    st.caption(f"{words.SELECT_ROW} for its evidence.")


def _of_state(
    found: pl.DataFrame, state: str, rows: list[dict[str, Any]]
) -> dict[str, pl.Series | list[str]]:
    if state == "held_back":
        return {"held back": [regression_words.reason(row["held_back_by"]) for row in rows]}
    if state == "incident":
        return {"last day": found["ended_on"]}
    if state == "closed":
        return {
            "closed": found["closed_on"],
            "why": [_ending(row) for row in rows],
        }
    return {"age": [words.many(row["age_days"], "day") for row in rows]}


def _ending(row: Mapping[str, Any]) -> str:
    return (row["held_back_by"] or row["closed_because"] or words.UNKNOWN).replace("_", " ")


def _card(row: Mapping[str, Any]) -> None:
    with st.container(border=True, gap="xsmall"):
        st.button(
            f"**{words.code(regression_words.measure(row['metric']))}** of "
            f"{words.code(regression_words.whose(row['team']), 40)}",
            key=f"evidence {row['team']} {row['metric']} {row['started_on']}",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=look_at,
            args=(row,),
        )
        st.markdown(
            f"{words.prose(regression_words.change_of(row))} "
            f"({regression_words.change(row['change_ratio'])}) "
            f"{regression_words.span(row)}"
        )
        st.caption(
            " \u00b7 ".join(
                [
                    regression_words.severity(row["severity"]),
                    regression_words.marked_verdict(row),
                    _cost(row["lost_gpu_seconds_per_day"]),
                    *(
                        [f"{words.many(row['age_days'], 'day')} old"]
                        if row["state"] not in _OVER
                        else []
                    ),
                    *(
                        [f"held back: {regression_words.reason(row['held_back_by'])}"]
                        if row["held_back_by"]
                        else []
                    ),
                ]
            )
        )


def _cost(gpu_seconds: float | None) -> str:
    return "cost unknown" if gpu_seconds is None else f"{words.hours(gpu_seconds)} GPU-hours a day"


def quiet(team: str, about: str) -> None:
    """Every series of which nothing is told, why, and what it could have shown."""
    told = st.expander("Quiet series", key="quiet series", on_change="rerun")
    if not told.open:
        return
    with told, st.container(gap="xsmall"):
        _quiet(regression_rows.QUIET, team, about)


def _quiet(sql: str, team: str, about: str) -> None:
    found = data.frame(sql, team)
    if found.is_empty():
        st.caption("No series is quiet.")
        return
    st.caption(
        "Why nothing is told of a series, how near it is (a score of 1 opens), and the smallest "
        "change that it would have shown within 14 days in four cases of five. A baseline of times "
        "is made of attempts; one of failures, preemptions and shares of what they count."
    )
    st.dataframe(
        pl.DataFrame(
            {
                "team": found["team"],
                "measure": [regression_words.measure(each) for each in found["metric"]],
                "why": [regression_words.quiet_reason(each) for each in found["held_back_by"]],
                "score": found["evidence_ratio"],
                "smallest change": [
                    regression_words.change(each) for each in found["smallest_change_ratio"]
                ],
                "baseline days": found["baseline_days"],
                "attempts or events in it": found["baseline_observations"],
            }
        ),
        hide_index=True,
        height=parts.table_height(found.height, 420),
        placeholder=words.UNKNOWN,
        alt=f"{words.count(found.height)} quiet series. {about}",
        column_config={
            "score": st.column_config.ProgressColumn(format="%.2f", min_value=0, max_value=1),
            "attempts or events in it": st.column_config.NumberColumn(format="compact"),
        },
    )
    parts.footer(stem="ett_regressions_quiet", table=found, about=about, sql=sql)
