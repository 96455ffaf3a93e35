"""The definitions: every measure and area of the glossary, and the SQL of every view."""

from __future__ import annotations

from typing import Final

import streamlit as st

from app import data, parts, words

UNITS: Final = {
    "ratio": "a share",
    "seconds": "seconds",
    "gpu_seconds": "GPU-seconds",
    "count": "a count",
    "per_day": "a day",
    "per_1000_gpu_days": "for 1,000 GPU-days",
}
FIRST: Final = 12  # the measures that the Overview speaks of come first in the glossary
TARGETED: Final = ("ett_gpu_ratio", "ett_ratio")
TARGETS: Final = "select team, ett_ratio from targets order by team <> 'fleet', team"


def show() -> None:
    """Three tabs: measures, areas, and views with their SQL."""
    measures, areas, views = st.tabs(["Measures", "Areas", "Views"])
    with measures:
        _measures()
    with areas, st.grid(2, min_column_width=340, gap="small"):
        for area in words.areas().values():
            st.markdown(f"**{area.label}.** {area.meaning}")
    with views:
        _views()


def _measures() -> None:
    find = st.text_input("Find a measure", key="find", placeholder="recover, saved, ratio")
    found = [
        measure
        for measure in words.glossary().values()
        if (find or "").casefold() in f"{measure.label} {measure.key} {measure.meaning}".casefold()
    ]
    if not found:
        st.caption("No measure is like this. Take a letter off.")
    if len(found) > FIRST and not find and not st.toggle(f"Show all {len(found)} measures"):
        found = found[:FIRST]
    with st.grid(2, min_column_width=340, gap="small"):
        for measure in found:
            st.markdown(_text(measure))


def _text(measure: words.Measure) -> str:
    better = "" if measure.better == "neither" else f" Better {measure.better}."
    target = f" Target {_targets()}." if measure.key in TARGETED else ""
    return (
        f"**{measure.label}.** {measure.meaning}{better}{target}  \n"
        f":small[:gray[= {measure.formula}; {UNITS[measure.unit]}, "
        f"`{measure.view}.{measure.key}`]]"
    )


def _targets() -> str:
    of_all, *own = data.frame(TARGETS).iter_rows()
    listed = [words.target(of_all[1])] + [
        f"{words.code(team)} {words.target(ratio)}" for team, ratio in own[:20]
    ]
    return ", ".join(listed)


def _views() -> None:
    names = sorted(each.name for each in parts.views())
    asked = st.selectbox(
        "View", names, index=names.index("team_day"), key="view", filter_mode="contains"
    )
    for each in parts.views():
        if each.name == asked:
            parts.view_text(each)
