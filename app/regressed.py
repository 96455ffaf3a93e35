"""What got worse, where other pages speak of it: sentences on Overview, marks on the charts.

Reads the view `regressions`, in the columns that any warehouse has; the evidence is a page of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Final

import polars as pl
import streamlit as st

from app import data, money, regression_list, regression_words, words

# $1: team, which what all teams have is of as well; $2 and $3: first and last day
_MARKS: Final = """
from regressions
where
    state = 'open'
    and ($1 = 'fleet' or team in ($1, 'fleet'))
    and started_on between $2 and $3
order by lost_gpu_seconds_per_day desc nulls last, team, metric
"""

# $1: team, $2: last day
_LAST_RAN: Final = """
select max(day) as day
from team_day_totals
where team = $1 and workload = 'all' and wall_us > 0 and day <= $2
"""
_SILENT_DAYS: Final = 7


def nothing(team: str, last: date) -> str:
    """That nothing got worse; of a team that ran nothing for a week or more, since when."""
    ran = data.row(_LAST_RAN, team, last)["day"]
    told = "Nothing got worse that can be told from chance"
    if ran is None or (last - ran).days < _SILENT_DAYS:
        return f"{told}."
    return f"{told}, up to {words.day(ran)}: since then nothing ran."


def sentence(row: Mapping[str, Any]) -> str:
    """`Time to start of feed: 6 min 10 s -> 8 min 40 s since Mon 2 Mar (+41 %, 310 GPU-hours a
    day)`, without markup. Of a long name the beginning, so that no limit cuts off the figures.
    """
    metric = row["metric"]
    lost = words.hours(row["lost_gpu_seconds_per_day"])
    figures = [
        regression_words.change(row["change_ratio"]) if row["change_ratio"] is not None else "",
        f"{lost} GPU-hours a day" if row["lost_gpu_seconds_per_day"] is not None else "",
    ]
    told = ", ".join(figure for figure in figures if figure)
    whose = words.clipped(regression_words.whose(row["team"]), 80)
    return (
        f"{regression_words.measure(metric)} of {whose}: "
        f"{regression_words.change_of(row)} "
        f"{regression_words.span(row)}" + (f" ({told})" if told else "")
    )


def show(found: pl.DataFrame) -> None:
    """One sentence for each row of selects.REGRESSIONS, with a way to its evidence."""
    known = int(found["known"][0])
    if known > found.height:
        st.caption(
            f"{found.height} of {known}, the dearest first. The page Regressions lists all of them."
        )
    for row in found.iter_rows(named=True):
        cost = money.cost(row["lost_gpu_seconds_per_day"])
        told = [
            regression_words.severity(row["severity"]),
            words.prose(sentence(row), 400),
            f"{cost} a day" if cost else "",
            words.prose(regression_words.verdict(row)),
        ]
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(" \u00b7 ".join(part for part in told if part), width="content")
            st.button(
                f"Look at {words.code(regression_words.measure(row['metric']))} of "
                f"{words.code(regression_words.whose(row['team']), 40)}",
                key=f"regression {row['team']} {row['metric']} {row['started_on']}",
                type="tertiary",
                icon=":material/arrow_forward:",
                on_click=regression_list.look_at,
                args=(row,),
            )


def marks(team: str, first: date, last: date, short: str = "") -> pl.DataFrame:
    """Day and text of what got worse in these days; of measures that begin so, where one is named.

    Empty where the view cannot be read: a chart does without its marks.
    """
    try:
        found = data.frame(_MARKS, team, first, last)
    except data.ViewFailed:
        return pl.DataFrame(schema={"day": pl.Date, "text": pl.String})
    rows = [
        {"day": row["started_on"], "text": sentence(row)}
        for row in found.iter_rows(named=True)
        if row["metric"].startswith(short)
    ]
    return pl.DataFrame(rows, schema={"day": pl.Date, "text": pl.String})
