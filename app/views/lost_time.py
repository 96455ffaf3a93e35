"""Lost time: where did the GPU-hours go, and whose are they?"""

from __future__ import annotations

import polars as pl
import streamlit as st

from app import alts, data, filters, kpis, losses, openings, parts, selects, words
from app.charts.pairs import pairs
from app.charts.stack import one_area, stack
from app.charts.team_areas import team_areas
from queries import STARTUP_AREAS

MOST_TEAMS = 12

# $5: weight
BY_DAY = """
select
    areas.day,
    areas.area,
    areas.is_recovery,
    if($5 = 'gpu', areas.gpu_seconds, areas.seconds) as amount,
    amount / nullif(
        if($5 = 'gpu', losses.instrumented_gpu_seconds, losses.instrumented_seconds), 0
    ) as share_ratio
from area_by_team_day as areas
inner join losses_by_team_day as losses
    on
        areas.team = losses.team
        and areas.workload = losses.workload
        and areas.day = losses.day
where
    areas.team = $1
    and areas.workload = $2
    and areas.day between $3 and $4
    and areas.area <> 'uninstrumented'
order by areas.day, areas.area, areas.is_recovery
"""

# $3: area, $6: weight
ONE_AREA = """
select
    days.day,
    days.is_complete,
    if($6 = 'gpu', shares.gpu_seconds, shares.seconds) as amount,
    if($6 = 'gpu', shares.share_gpu_ratio, shares.share_ratio) as share_ratio
from days
left join shares_by_day($1, $2, $3, $4, $5) as shares on days.day = shares.day
where days.day between $4 and $5
order by days.day
"""

# $1: workload, $2 and $3: first and last day, $4: weight, $5: team, which the fleet stands beside
BY_TEAM = """
select
    team,
    area,
    if($4 = 'gpu', gpu_seconds, seconds) as amount,
    if($4 = 'gpu', share_gpu_ratio, share_ratio) as share_ratio
from window_team_areas($1, $2, $3)
where $5 = 'fleet' or team in ('fleet', $5)
order by team <> 'fleet', sum(amount) over (partition by team) desc nulls last, team, area
"""

# $5: area, or all
JOBS = """
select
    job_id,
    lost_gpu_seconds / 3600 as lost_gpu_hours,
    largest_area,
    largest_gpu_seconds / 3600 as largest_gpu_hours,
    team,
    gpus,
    attempts,
    ett_gpu_ratio * 100 as ett_percent
from window_job_losses($1, $2, $3, $4, $5)
order by lost_gpu_seconds desc, job_id
limit 20
"""

# What it lost in hours: for attempts whose GPUs are unknown. {lost}: of one attempt, in seconds.
ATTEMPTS = """
select
    spent.job_id,
    spent.{lost} / 3600 as lost_wall_hours,
    spent.attempt,
    spent.team,
    attempts.outcome,
    spent.wall_seconds / 3600 as wall_hours,
    attempts.ended_at
from (
    select *, wall_seconds - effective_seconds as all_seconds
    from window_attempts($1, $2, $3, $4)
) as spent
inner join attempts
    on
        spent.job_id = attempts.job_id
        and spent.attempt = attempts.attempt
where spent.{lost} > 0
order by lost_wall_hours desc, job_id, attempt
limit 20
"""

chosen = filters.show()
area = filters.area()
window = openings.opened(chosen)


def told(scope: filters.Scope) -> str:
    """The scope sentence, with the area that is looked at."""
    sentence = filters.sentence(scope, window.now)
    return sentence if area == filters.ALL else f"{sentence} \u00b7 {area}"


about = told(chosen)
colours = parts.colours()
target: float | None = data.row(selects.TARGET, chosen.team).get("ett_ratio")
first, last, newest = chosen.first_day, chosen.last_day, chosen.newest_day

losses.row(chosen, window)
if kpis.not_reported(window.now, filters.WEIGHTS[1]):
    if window.now["wall_seconds"]:
        st.caption(
            "All of this time is uninstrumented: its sources cannot say what it was spent on."
        )
    st.stop()
if kpis.not_reported(window.now, chosen.weight):
    st.stop()  # the line above the numbers says why, and how to see more
if area != filters.ALL:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Looking at **{words.area(area)}**: {words.areas()[area].meaning}")
        st.button(
            "Show all areas",
            icon=":material/arrow_back:",
            on_click=filters.choose,
            args=("area", filters.ALL),
        )

# -- by day --------------------------------------------------------------------------------------

if area == filters.ALL:
    with parts.card(
        f"Share of {chosen.hours} by area and day",
        "What took its part of each day, beside ETT?",
        parts.EVIDENCE,
    ):
        spine = data.frame(selects.DAYS, first, newest)
        by_day = data.frame(BY_DAY, chosen.team, chosen.workload, first, newest, chosen.weight)
        effective = alts.by_day(losses.effective(by_day), last, "share_ratio", words.ratio)
        parts.chart(
            stack(by_day, spine, target, colours, parts.EVIDENCE),
            alt=f"Share that was effective: {effective}. {about}",
            stem=chosen.stem("lost-time", "by-day"),
            table=lambda: losses.shares_beside(
                filters.marked(filters.with_unit(by_day, chosen), spine),
                data.frame(BY_DAY, *chosen.previous, chosen.weight),
                chosen,
            ),
            about=about,
            measures=("share_gpu_ratio", "ett_gpu_ratio"),
            sql=BY_DAY,
        )
        parts.legend(by_day["area"].unique().to_list())
        slanted = "Slanted lines over start-up: after an interruption."
        parts.caption(
            slanted if by_day["is_recovery"].any() else "",
            "The axis does not begin at zero.",
            filters.unfinished(filters.marked(by_day, spine), "share_ratio", "Pale"),
        )
else:
    with parts.card(f"{words.area(area)} by day", "Which days had more of it, and than before?"):
        scope = chosen.team, chosen.workload, area
        by_day = data.frame(ONE_AREA, *scope, first, newest, chosen.weight)
        then = data.frame(ONE_AREA, *scope, *chosen.previous[2:], chosen.weight)
        with_then = filters.beside(by_day, then, chosen, value="share_ratio")
        if not with_then.select(pl.sum_horizontal("^.*share_ratio$").sum()).item():
            before = " nor in those before" if chosen.is_compared else ""
            st.caption(f"Nothing was lost to {words.area(area)} in these days{before}.")
        else:
            parts.chart(
                one_area(with_then, area, colours, parts.STANDARD),
                alt=f"Share lost to {area}: "
                f"{alts.by_day(by_day, last, 'share_ratio', words.ratio)}. {about}",
                stem=chosen.stem("lost-time", f"{area}-by-day"),
                table=filters.with_unit(with_then, chosen),
                about=about,
                measures=("share_gpu_ratio",),
                sql=ONE_AREA,
            )
            parts.caption(
                words.IN_GREY if chosen.is_compared else "",
                filters.unfinished(by_day.filter(pl.col("share_ratio") > 0), "share_ratio", "Pale"),
            )

# -- whose ---------------------------------------------------------------------------------------

with parts.card(
    "Teams by area",
    f"Which share of its {chosen.hours} did each team lose to what? Click a cell to look at it.",
):
    cells = data.frame(BY_TEAM, chosen.workload, first, last, chosen.weight, chosen.team)
    teams = cells["team"].unique(maintain_order=True).to_list()
    every = len(teams) > MOST_TEAMS + 1 and st.toggle(f"Show all {len(teams) - 1} teams")
    shown = teams if every else teams[: MOST_TEAMS + 1]

    def with_before() -> pl.DataFrame:
        """The cells with those of the window before, where it is compared."""
        table = filters.with_unit(cells, chosen)
        if not chosen.is_compared:
            return table
        before = data.frame(
            BY_TEAM, chosen.workload, *chosen.previous[2:], chosen.weight, chosen.team
        ).select("team", "area", previous_share_ratio="share_ratio")
        return table.join(before, on=["team", "area"], how="left", maintain_order="left")

    def look_at(cell: list[str]) -> None:
        """Choose the team and the area of a cell."""
        filters.choose("team", cell[0])
        filters.choose("area", cell[1])

    drawn = cells.filter(pl.col("team").is_in(shown))
    hovers = [
        f"{words.figure(row['team'], 256)}, {words.area(row['area'])}<br>"
        f"{words.ratio(row['share_ratio'], 2)}, {words.hours(row['amount'])} {chosen.hours}"
        for row in drawn.iter_rows(named=True)
    ]
    parts.chart(
        team_areas(
            drawn.with_columns(hover=pl.Series(hovers, dtype=pl.String)),
            shown,
            [name for name in filters.LOST_AREAS if name in set(drawn["area"])],
            colours,
            area,
        ),
        alt=f"Largest shares lost: {alts.listed(losses.largest(drawn))}. {about}",
        stem=chosen.stem("lost-time", "teams-by-area"),
        table=with_before,
        about=about,
        measures=("share_gpu_ratio",),
        sql=BY_TEAM,
        on_pick=look_at,
        least_width=760,
    )
    st.caption(
        f"Percent. Sorted by {chosen.hours} lost, the fleet first. Team and Area among the "
        "filters choose the same as a click."
    )

# -- tries, and jobs -----------------------------------------------------------------------------

left, right = st.columns([1, 2], gap="small")
with left, parts.card("First tries and retries", "What does starting cost, and starting again?"):
    areas = data.frame(losses.TRIES, *chosen.now, chosen.weight, STARTUP_AREAS)
    tries = losses.tries(areas)
    if tries.is_empty():
        st.caption("No start-up was reported in these days.")
    else:
        parts.chart(
            pairs(tries, colours),
            alt=f"{chosen.hours} first and again: {alts.listed(losses.tries_told(tries))}. {about}",
            stem=chosen.stem("lost-time", "tries"),
            table=lambda: filters.with_unit(
                losses.tries_beside(
                    tries,
                    data.frame(losses.TRIES, *chosen.previous, chosen.weight, STARTUP_AREAS)
                    if chosen.is_compared
                    else areas.clear(),
                ),
                chosen,
            ),
            about=about,
            measures=("start_up_gpu_ratio", "recovery_gpu_ratio"),
            sql=losses.TRIES,
        )
        if tries["again_amount"].sum() > 0:
            st.caption("Slanted lines: start-up after an interruption, before its first batch.")
is_weighed = not openings.tells_more_by_wall(window.now)
with (
    right,
    parts.card(
        f"{'Jobs' if is_weighed else 'Attempts'} that lost most"
        + ("" if area == filters.ALL else f" to {words.area(area)}"),
        f"Which jobs should someone look at first? {words.SELECT_ROW} to see the job.",
    ),
):
    sql = JOBS if is_weighed else ATTEMPTS.format(lost=f"{area}_seconds")
    jobs = data.frame(sql, *chosen.now, *((area,) if is_weighed else ()))
    if jobs.is_empty():
        st.caption("No job lost time to this in these days. Choose more days, or all areas.")
    elif is_weighed:
        losses.jobs(jobs, area, chosen, told(filters.by_gpus(chosen)), sql)
    else:
        losses.attempts(jobs, area, chosen, about, sql)
