"""What every page of a window of days begins with: its numbers, and what they cannot tell.

Where nothing ran in the window, or all GPUs are unknown, it says so and leads to what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import polars as pl
import streamlit as st

from app import data, filters, parts, selects, tiles, words

_TOLD: Final = {"gpu": "instrumented_attempts_of_known_gpus", "wall": "instrumented_attempts"}


@dataclass(frozen=True, slots=True)
class Opened:
    """The numbers that every page of a window begins with."""

    # the row of selects.WINDOW, with that of selects.RAN and `attempts_weighed`: where GPUs weigh,
    # those of known ones; `attempts_told`: of these the instrumented ones, which ETT is of
    now: Mapping[str, Any]
    before: Mapping[str, Any]  # likewise, of the window before; empty where nothing is compared
    about: str  # the scope sentence, for alt texts and exports


def opened(chosen: filters.Scope, *, is_weighed: bool = True) -> Opened:
    """Read the chosen window and print its scope sentence; stops the page where nothing ran.

    `is_weighed`: the page counts by the weight that is chosen. Else in GPU-hours, whichever it is.
    """
    told = chosen if is_weighed else filters.by_gpus(chosen)
    now, before = window_now(told), window_before(told)
    parts.scope(filters.sentence(told, now, words.code))
    if not chosen.is_complete:
        st.warning("No day is complete yet: these numbers are of days that may still grow.")
    if not now.get("attempts"):
        _say_when(chosen)
        st.stop()
    if told.weight == filters.WEIGHTS[0] and tells_more_by_wall(now):
        _say_gpus_unknown(now, is_weighed=is_weighed)
    return Opened(now=now, before=before, about=filters.sentence(told, now))


def window_now(chosen: filters.Scope) -> dict[str, Any]:
    """The numbers of the window, as in `Opened`."""
    ran = data.row(selects.RAN, *chosen.now)
    # a warehouse that an earlier release published does not count them
    unknown = ran.get("attempts_of_unknown_gpus") or 0
    weighed = ran["attempts"] - (unknown if chosen.weight == filters.WEIGHTS[0] else 0)
    told = ran.get(_TOLD[chosen.weight], weighed)  # that warehouse knows no difference
    window = data.row(selects.WINDOW, *chosen.now, chosen.weight)
    return window | ran | {"attempts_weighed": weighed, "attempts_told": told}


def window_before(chosen: filters.Scope) -> dict[str, Any]:
    """The numbers of the window before, as in `Opened`; of its attempts no more are counted than
    are compared. Empty where nothing is compared.
    """
    if not chosen.is_compared:
        return {}
    ran = data.row(selects.RAN_BEFORE, *chosen.previous, chosen.weight, tiles.TOO_FEW)
    return data.row(selects.WINDOW, *chosen.previous, chosen.weight) | ran


def teams_before(chosen: filters.Scope) -> pl.DataFrame:
    """What teams had in the window before, of those with enough attempts then and now.

    Columns: team, ett_ratio.
    """
    scope = chosen.workload, chosen.first_day, chosen.last_day, chosen.weight, *chosen.previous[2:]
    return data.frame(selects.TEAMS_BEFORE, *scope, tiles.TOO_FEW)


def _say_when(chosen: filters.Scope) -> None:
    """Say on which day the choice has data, and lead there."""
    near = data.row(selects.NEAREST, *chosen.now, filters.DAYS[-1])
    if not near:
        st.caption("No attempt of this choice is in the warehouse on any day.")
        with st.container(horizontal=True):
            for name, widest, label in (
                ("workload", filters.ALL, "Show all workloads"),
                ("team", filters.FLEET, "Show the whole fleet"),
            ):
                if getattr(chosen, name) != widest:
                    st.button(label, on_click=filters.choose, args=(name, widest))
        return
    day: date = near["day"]
    before = chosen.last_day - day
    wide = [days for days in filters.DAYS if timedelta(0) <= before < timedelta(days=days)]
    told = (
        f"No attempt ran here in these days. The nearest {'complete day' if wide else 'day'} with "
        f"data for this choice is {day:%a} {day.day} {day:%b %Y}"
    )
    if day > chosen.last_day:
        told += ", which is not complete yet: these pages tell of complete days only"
    elif not wide:
        told += f", more than {filters.DAYS[-1]} days before the newest complete one"
    st.caption(f"{told}. Jobs of that day can be looked at:" if not wide else f"{told}.")
    if wide:
        st.button(f"Show {wide[0]} days", on_click=filters.choose, args=("days", wide[0]))
        return
    jobs = data.frame(selects.JOBS_OF_DAY, chosen.team, chosen.workload, day)["job_id"]
    with st.container(horizontal=True, gap="medium"):
        for job_id in jobs:
            st.page_link("views/job.py", label=words.code(job_id, 60), query_params={"job": job_id})
        st.page_link("views/jobs.py", label="All jobs", icon=":material/list_alt:")


def tells_more_by_wall(window: Mapping[str, Any]) -> bool:
    """Whether no job that says what it did says on how many GPUs; `window` as in `Opened.now`."""
    by_gpu, by_wall = (
        (window.get(held) or 0) - (window.get(silent) or 0)
        for held, silent in (
            ("gpu_seconds", "uninstrumented_gpu_seconds"),
            ("wall_seconds", "uninstrumented_seconds"),
        )
    )
    return bool(by_wall > 0 and by_gpu <= 0)


def of_unknown_gpus(window: Mapping[str, Any]) -> str:
    """Whose GPUs are unknown where wall time tells more: those of others may be told."""
    return "instrumented jobs" if window.get("gpu_seconds") else "these jobs"


def _say_gpus_unknown(window: Mapping[str, Any], *, is_weighed: bool) -> None:
    """Say so, and offer wall weight where that changes what the page counts."""
    unknown = (
        "The GPUs of instrumented jobs are unknown, so what they lost cannot be told in GPU-hours; "
        "those that are told are of jobs whose sources cannot say what they did."
        if window.get("gpu_seconds")
        else "The GPUs of these jobs are unknown, so nothing of them can be told in GPU-hours."
    )
    if not is_weighed:
        st.markdown(unknown)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{unknown} Wall weight counts the hours of every attempt the same.")
        st.button(
            "Show by wall weight",
            icon=":material/schedule:",
            on_click=filters.choose,
            args=("weight", filters.WEIGHTS[1]),
        )
