"""One number at a time: a KPI with its neighbours, a figure of a job, the result of a check.

Draws what it is given; runs no select.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import streamlit as st

from app import parts, words
from app.palette import Palette
from app.sparkline import sparkline

TOO_FEW: Final = 5  # attempts: below, a number is grey and not compared


def kpi(
    measure: words.Measure,
    now: float | None,
    before: float | None,
    *,
    show: Callable[[float | None], str],
    difference: Callable[[float], str],
    rests_on: int | None,
    rested_on: int | None,
    note: str,
    series: Sequence[float | None],
    label: str | None = None,
    bars: bool = False,
    tell: Callable[[float], str] | None = None,
) -> None:
    """One number with its three neighbours (target in the note, previous period, how many).

    `rests_on`, `rested_on`: of how many it is now and was before; None where they do not matter.
    `tell`: a value of `series` in words, where that is not `show`.
    """
    enough, was_enough = is_enough(rests_on), is_enough(rested_on)
    delta: str | None = None
    verdict: str | None = None
    if now is not None and before is not None and enough and was_enough:
        delta = difference(now - before)
        verdict = _verdict(delta, now - before, measure.better)
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(
            label or measure.label,
            _value(now, show, enough),
            delta=delta,
            delta_description=verdict,
            delta_color=_delta_color(verdict, measure.better),
            delta_arrow="off" if verdict == "same" else "auto",
            help=f"{measure.meaning} {measure.formula}.",
        )
        if series:
            colour = _colour(verdict, parts.colours())
            st.html(sparkline(series, colour, tell or show, bars=bars))
        # of nothing, the note says why there is nothing
        if now is None or (enough and (was_enough or before is None)):
            st.caption(note)
        elif enough:
            st.caption(f"{note}; {few_before(rested_on)}")
        else:
            st.caption(f"{note}; n = {rests_on}, too few to compare")


def is_enough(count: int | None) -> bool:
    """Whether a number of so many may be compared; None: how many they are does not matter."""
    return count is None or count >= TOO_FEW


def few_before(count: int | None) -> str:
    return f"n = {count} before, too few to compare"


def figure(measure: words.Measure, value: str, note: str, *, label: str | None = None) -> None:
    """A number of one job: no trend, no comparison but the note."""
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(label or measure.label, value, help=f"{measure.meaning} {measure.formula}.")
        st.caption(note)


def checked(what: str, days: int, gap_seconds: float, *, tolerance: float) -> None:
    """The result of an identity check, in colour, icon and word; nothing is good of no day."""
    if not days:
        st.caption(f"{what}: there is no day with data yet.")
        return
    if abs(gap_seconds) <= tolerance:
        mark, colour, word = "check_circle", "green", "good"
    else:
        mark, colour, word = "error", "red", "broken"
    st.markdown(
        f":{colour}[:material/{mark}: {word}] \u00b7 **{what}**, on {words.many(days, 'day')}; "
        f"largest gap {words.duration(gap_seconds)}."
    )


def _value(now: float | None, show: Callable[[float | None], str], enough: bool) -> str:
    if now is None:
        return f":gray[{words.UNKNOWN}]"
    return show(now) if enough else f":gray[{show(now)}]"


def _verdict(delta: str, difference: float, better: str) -> str:
    if words.is_nothing(delta):
        return "same"
    if better == "neither":
        return "higher" if difference > 0 else "lower"
    return "better" if (difference > 0) == (better == "up") else "worse"


def _colour(verdict: str | None, palette: Palette) -> str:
    return {"better": palette.good, "worse": palette.bad}.get(verdict or "", palette.comparison)


def _delta_color(verdict: str | None, better: str) -> Literal["normal", "inverse", "off"]:
    if verdict in (None, "same") or better == "neither":
        return "off"
    return "normal" if better == "up" else "inverse"
