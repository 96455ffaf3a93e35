"""Overview: is the fleet at its target, and what moved it?"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import polars as pl
import streamlit as st

from app import data, filters, kpis, parts, selects, words
from app.charts.cascade import cascade
from app.charts.moved import moved
from app.charts.trend import bounds, ett_by_day, small_team

MOST_TEAMS = 12

chosen = filters.show()
colours = parts.colours()
target: float | None = data.row(selects.TARGET, chosen.team).get("ett_ratio")
now = data.row(selects.WINDOW, *chosen.now, chosen.weight)
before = data.row(selects.WINDOW, *chosen.previous, chosen.weight) if chosen.is_compared else {}
about = filters.sentence(chosen, now)
st.markdown(filters.sentence(chosen, now, words.code))
if not chosen.is_complete:
    st.warning("No day is complete yet: these numbers are of days that may still grow.")
if not now.get("attempts"):
    st.caption(
        "No attempt ran here in these days. Choose more days, all workloads, or another team."
    )
    st.stop()

kpis.row(chosen, now, before, target)

# -- ETT by day ----------------------------------------------------------------------------------

with parts.card("ETT by day", "On which days was the target missed, and by how much?"):
    team, workload, first, last = chosen.now
    by_day = partial(data.frame, selects.BY_DAY, team, workload)
    days = by_day(first, chosen.newest_day, chosen.weight, target)
    earlier = by_day(*chosen.previous[2:], chosen.weight, target).with_columns(
        pl.col("day") + timedelta(days=chosen.days)
    )
    parts.chart(
        ett_by_day(
            days,
            earlier if chosen.is_compared else earlier.clear(),
            target,
            colours,
            parts.STANDARD,
        ),
        alt=f"ETT by day against the target. {about}",
        stem=chosen.stem("overview", "ett-by-day"),
        table=days.join(
            earlier.select("day", previous_ett_ratio="ett_ratio"), on="day", how="left"
        ).select("day", "is_complete", "ett_ratio", "previous_ett_ratio"),
        about=about,
        measures=("ett_gpu_ratio" if chosen.weight == "gpu" else "ett_ratio",),
        sql=selects.BY_DAY,
    )

# -- where the GPU-hours went, and what moved ETT ------------------------------------------------

left, right = st.columns([3, 2], gap="small")
with (
    left,
    parts.card(f"Where the {chosen.hours} went", "What took its part, from all to effective?"),
):
    areas = data.frame(selects.AREAS, *chosen.now, chosen.weight)
    earlier = data.frame(selects.AREAS, *chosen.previous, chosen.weight)
    by_area = kpis.shares(areas, earlier if chosen.is_compared else earlier.clear())
    whole = float(areas["amount"].sum())
    parts.chart(
        cascade(
            kpis.labelled(areas, by_area),
            colours,
            f"all {chosen.hours}",
            f"<b>{words.hours(whole)}</b>",
        ),
        alt=f"{chosen.hours} by area, from all to effective. {about}",
        stem=chosen.stem("overview", "cascade"),
        table=by_area,
        about=about,
        measures=("ett_gpu_ratio", "lost_gpu_seconds"),
        sql=selects.AREAS,
    )
    st.caption(
        "Slanted lines: start-up after an interruption. The long bars are cut at the left."
        if whole and float(now["lost_amount"]) < whole / 2
        else "Slanted lines: start-up after an interruption."
    )

with right, parts.card("What moved ETT", "Which areas lifted it, which pulled it down?"):
    change = None
    if before.get("ett") is not None and now["ett"] is not None:
        change = now["ett"] - before["ett"]
    if change is None:
        st.caption(
            "There is nothing to compare with: "
            + (chosen.why_not_compared or "choose previous under Compared with")
            + "."
        )
    else:
        pulled = (
            by_area.filter(pl.col("area").is_in(["effective", "uninstrumented"]).not_())
            .select("area", pulled_ratio=-pl.col("difference_ratio"))
            .filter(pl.col("pulled_ratio") != 0)
            .sort(pl.col("pulled_ratio").abs(), descending=True)
        )
        parts.chart(
            moved(pulled, colours),
            alt=f"Change of ETT by area. {about}",
            stem=chosen.stem("overview", "moved"),
            table=pulled,
            about=about,
            measures=("ett_gpu_ratio",),
            sql=selects.AREAS,
        )
        st.caption(
            f"The bars add up to the change of ETT, {words.points(change, 2)}. What comes from "
            "other jobs having run, and what from the same work taking longer, is not split here."
        )

# -- teams ---------------------------------------------------------------------------------------

if chosen.team == filters.FLEET:
    with parts.card("Teams", "Whose is it? Sorted by GPU-hours lost; the fleet in grey."):
        _, workload, first, last = chosen.now
        teams = data.frame(selects.TEAMS, workload, first, last)
        ratio = "ett_gpu_ratio" if chosen.weight == "gpu" else "ett_ratio"
        then = {}
        if chosen.is_compared:
            earlier = data.frame(selects.TEAMS, workload, *chosen.previous[2:])
            then = dict(earlier.select("team", ratio).iter_rows())
        fleet = data.frame(selects.BY_DAY, *chosen.now, chosen.weight, target)
        most = teams.height
        if teams.height > MOST_TEAMS and not st.toggle(f"Show all {teams.height} teams"):
            most = MOST_TEAMS
        shown = teams.head(most)["team"].to_list()
        series = {
            name: data.frame(selects.BY_DAY, name, workload, first, last, chosen.weight, target)
            for name in shown
        }
        axes = bounds([fleet, *series.values()], target)
        with st.grid(4, min_column_width=190, gap="small"):
            for row in teams.head(most).iter_rows(named=True):
                with st.container(gap=None):
                    st.button(
                        f"**{words.code(row['team'], 32)}**",
                        key=f"team {row['team']}",
                        type="tertiary",
                        on_click=filters.choose,
                        args=("team", row["team"]),
                        help="Show this team",
                    )
                    st.caption(
                        f"{words.ratio(row[ratio])} "
                        f"{words.change(row[ratio], then.get(row['team']))} \u00b7 "
                        f"{words.hours(row['lost_gpu_seconds'])} GPU-hours lost"
                    )
                    st.plotly_chart(
                        small_team(
                            series[row["team"]], fleet, target, axes, colours, parts.SPARKLINE
                        ),
                        theme=None,
                        key=f"figure team {row['team']}",
                        config={"displayModeBar": False},
                        alt=f"ETT of {row['team']} by day, over the fleet's",
                    )
        parts.footer(
            stem=chosen.stem("overview", "teams"),
            table=teams,
            about=about,
            measures=("ett_gpu_ratio", "lost_gpu_seconds"),
            sql=selects.TEAMS,
        )
else:
    st.button(
        "Show the whole fleet",
        icon=":material/arrow_back:",
        on_click=filters.choose,
        args=("team", filters.FLEET),
    )

# -- regressions ---------------------------------------------------------------------------------

with parts.card("Open regressions", "What got worse, and is it real?", parts.SPARKLINE):
    regressions = data.frame(selects.REGRESSIONS, chosen.team)
    if regressions.is_empty():
        st.caption(
            "Regression detection is not part of this release. "
            "That none is listed does not say that nothing got worse."
        )
    else:
        st.dataframe(regressions, hide_index=True, alt=f"Open regressions. {about}")
