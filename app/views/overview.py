"""Overview: is the fleet at its target, and what moved it?"""

from __future__ import annotations

import polars as pl
import streamlit as st

from app import (
    alts,
    data,
    filters,
    kpis,
    openings,
    parts,
    regressed,
    regression_rows,
    regression_words,
    selects,
    words,
)
from app.charts.cascade import cascade, marks_told
from app.charts.moved import JOB_MIX, moved
from app.charts.trend import bounds, ett_by_day
from app.sparkline import small_team

MOST_TEAMS = 12
LOST_TIME = "views/lost_time.py"

chosen = filters.show()
window = openings.opened(chosen)
now, before, about = window.now, window.before, window.about
team, workload, first, last = chosen.now
colours = parts.colours()
target: float | None = data.row(selects.TARGET, team).get("ett_ratio")
ett = "ett_gpu_ratio" if chosen.weight == "gpu" else "ett_ratio"

kpis.row(chosen, now, before, target)
silent = kpis.not_reported(now, chosen.weight)

too_few = kpis.too_few(now, before)
is_compared = chosen.is_compared and not too_few

# -- ETT by day ----------------------------------------------------------------------------------

with parts.card("ETT by day", "On which days was the target missed, and by how much?"):
    every = filters.by_day(selects.BY_DAY, chosen, chosen.weight, target)
    days = filters.within(every, first, chosen.newest_day)
    earlier = filters.within(every, *chosen.previous[2:])
    table = filters.beside(
        days.select("day", "is_complete", "ett_ratio"), earlier, chosen, value="ett_ratio"
    )
    previous = table.select("day", ett_ratio="previous_ett_ratio").drop_nulls()
    if silent:
        st.caption(f"There is no ETT to draw: {silent[0].lower()}{silent[1:]}.")
    else:
        marks = regressed.marks(team, first, chosen.newest_day)
        of_all = "" if workload == filters.ALL else ", in all workloads together"
        parts.chart(
            ett_by_day(
                days,
                previous,
                marks,
                target,
                colours,
                parts.STANDARD,
            ),
            alt="ETT by day: "
            f"{alts.by_day(days, chosen.last_day, 'ett_ratio', words.ratio)}. {about}",
            stem=chosen.stem("overview", "ett-by-day"),
            table=table,
            about=about,
            measures=(ett,),
            sql=selects.BY_DAY,
            values=filters.drawn_days(chosen, chosen.weight, target),
        )
        parts.caption(
            words.IN_GREY if chosen.is_compared else "",
            f"Triangles: since when something got worse{of_all}." if marks.height else "",
            filters.unfinished(days, "ett_ratio", "Hollow"),
        )

# -- where the GPU-hours went, and what moved ETT ------------------------------------------------


def look_at(area: str) -> None:
    """Open Lost time on the area that was clicked; the bar of everything opens it on all."""
    if area in filters.LOST_AREAS:
        filters.go(LOST_TIME, {"area": area}, area=area)
    else:
        filters.go(LOST_TIME, area=filters.ALL)


left, right = st.columns([3, 2], gap="small")
with (
    left,
    parts.card(
        f"Where the {chosen.hours} went",
        "What took its part, from all to effective? Click a bar to look at it.",
    ),
):
    areas = data.frame(selects.AREAS, *chosen.now, chosen.weight)
    earlier = data.frame(selects.AREAS, *chosen.previous, chosen.weight)
    by_area = kpis.shares(areas, earlier if is_compared else earlier.clear())
    whole = float(areas["amount"].sum())
    if not whole:
        st.caption(f"There is nothing to draw: {silent[0].lower()}{silent[1:]}.")
    else:
        parts.chart(
            cascade(
                kpis.labelled(areas, by_area),
                colours,
                f"all {chosen.hours}",
                f"<b>{words.hours(whole)}</b>",
            ),
            alt=f"{chosen.hours} by area: {alts.listed(kpis.told(by_area))}. {about}",
            stem=chosen.stem("overview", "cascade"),
            table=filters.with_unit(by_area, chosen),
            about=about,
            measures=(ett, "lost_gpu_seconds", "share_gpu_ratio"),
            sql=selects.AREAS,
            on_pick=look_at,
            least_width=parts.LABELLED,
        )
        if how_to_read := marks_told(areas):
            st.caption(how_to_read)
    if most_lost := kpis.largest_loss(by_area):
        st.button(
            f"Look at {words.area(most_lost)}, the largest loss",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=look_at,
            args=(most_lost,),
        )

with right, parts.card("What moved ETT", "What lifted it, what pulled it down, and was it mix?"):
    if before.get("ett") is None or now["ett"] is None or too_few:
        why_no_ett_before = too_few or (
            f"no ETT is known of {words.days(*chosen.previous[2:])}"
            if chosen.is_compared
            else "choose previous under Compared with"
        )
        st.caption(
            "There is nothing to compare with: "
            + (f"{silent[:1].lower()}{silent[1:]}" or chosen.why_not_compared or why_no_ett_before)
            + "."
        )
    else:
        moves = data.frame(selects.MOVES, *chosen.now, chosen.weight, *chosen.previous[2:])
        mix = moves.filter(pl.col("area") == JOB_MIX)["moved_ratio"]
        parts.chart(
            moved(moves, colours),
            alt=f"Change of ETT: {alts.listed(kpis.moves_told(moves))}. {about}",
            stem=chosen.stem("overview", "moved"),
            table=moves,
            about=about,
            measures=("moved_ratio",),
            sql=selects.MOVES,
            on_pick=look_at,
        )
        st.caption(
            f"The bars add up to the change of ETT, {words.points(now['ett'] - before['ett'], 2)}. "
            f"Job mix, {words.points(mix[0] if mix.len() else 0.0, 2)}, is that other kinds of "
            "work ran (workload, size, model); the rest is the same work going better or worse."
        )

# -- teams ---------------------------------------------------------------------------------------

if team == filters.FLEET:
    ordered = "Sorted by name" if silent else f"Sorted by {chosen.hours} lost; the fleet in grey"
    with parts.card("Teams", f"Whose is it? {ordered}."):
        teams = data.frame(selects.TEAMS, workload, first, last, chosen.weight)
        earlier = data.frame(selects.TEAMS, workload, *chosen.previous[2:], chosen.weight)
        then = dict(openings.teams_before(chosen).rows()) if is_compared else {}
        known = set(earlier.drop_nulls("ett_ratio")["team"]) if is_compared else set()
        most = teams.height
        if teams.height > MOST_TEAMS and not st.toggle(f"Show all {teams.height} teams"):
            most = MOST_TEAMS
        names = teams.head(most)["team"].to_list()
        every = filters.by_day(selects.BY_DAY, chosen, chosen.weight, target)
        fleet = filters.within(every, first, last)
        series = data.frame(
            selects.TEAMS_BY_DAY, workload, first, last, chosen.weight, tuple(names)
        ).partition_by("team", as_dict=True)
        spine = fleet.select("day")
        targets: dict[str, float] = dict(data.frame(selects.TARGETS).rows())
        aims = [targets.get(name, target) for name in names]
        axes = bounds(fleet, list(series.values()), aims)
        with st.grid(4, min_column_width=190, gap="small"):
            for row, aim in zip(teams.head(most).iter_rows(named=True), aims, strict=True):
                name = row["team"]
                own = spine.join(
                    series.get((name,), fleet.clear()), on="day", how="left", maintain_order="left"
                )
                with st.container(gap=None):
                    st.button(
                        f"**{words.code(name, 32)}**",
                        key=f"team {name}",
                        type="tertiary",
                        on_click=filters.choose,
                        args=("team", name),
                        help="Show this team",
                    )
                    of_few = name in known - then.keys()
                    st.caption(kpis.team(row, then.get(name), chosen, silent, of_few=of_few))
                    if silent:
                        continue
                    st.html(
                        small_team(
                            own.select(pl.when("is_complete").then("ett_ratio"))
                            .to_series()
                            .to_list(),
                            fleet["ett_ratio"].to_list(),
                            aim,
                            axes,
                            colours,
                            [
                                f"{words.day(day)}: {words.ratio(ratio)}"
                                for day, ratio in own.select("day", "ett_ratio").rows()
                            ],
                            alt=f"ETT of {name}: "
                            + alts.by_day(own, chosen.last_day, "ett_ratio", words.ratio),
                            height=parts.SPARKLINE,
                        )
                    )
        if not silent and any(
            each.filter(pl.col("is_complete") & (pl.col("ett_ratio") < axes[0])).height
            for each in series.values()
        ):
            st.caption(f"Days below {words.ratio(axes[0])} are drawn at the lower edge.")
        parts.footer(
            stem=chosen.stem("overview", "teams"),
            table=filters.with_unit(teams, chosen).join(
                earlier.select("team", previous_ett_ratio="ett_ratio")
                if chosen.is_compared
                else earlier.clear().select("team", previous_ett_ratio="ett_ratio"),
                on="team",
                how="left",
                maintain_order="left",
            ),
            about=about,
            measures=(ett, "lost_gpu_seconds"),
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
    if workload != filters.ALL:
        st.caption("Told of all workloads together, whichever is chosen.")
    if failure := regression_rows.failure():
        st.error(regression_words.unknown(failure))
    elif not (found := data.frame(selects.REGRESSIONS, team)).is_empty():
        regressed.show(found)
    elif regression_rows.is_judged(team):
        st.caption(regressed.nothing(team, chosen.last_day))
    else:
        st.caption(regression_words.UNJUDGED)
