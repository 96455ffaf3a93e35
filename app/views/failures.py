"""Failures & preemption: what stops jobs, and what does each kind cost?"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import polars as pl
import streamlit as st

from app import alts, data, evidence, filters, openings, parts, selects, stops, words
from app.charts.causes import cost, shades, stopped_by_day
from app.charts.heat import heat
from app.charts.load import preemption_by_load

COUNTED = ("infra", "all")
MOST_TEAMS, FEW_TEAMS, MOST_ROWS = 12, 3, 200
LOAD_DAYS = 90  # a line needs more days than a glance at the last week

BY_DAY = """
from interruptions_by_day($1, $2, $3, $4, $5)
order by day, attribution, failure_domain
"""

CAUSES = """
from window_causes($1, $2, $3, $4, $5)
order by lost_gpu_seconds desc, failure_domain, failure_category
"""

# $5: attribution
CAUSE_NAMES = """
select failure_domain || '/' || failure_category as cause
from window_interruptions($1, $2, $3, $4)
where $5 = 'all' or attribution = $5
order by lost_gpu_seconds desc, cause
"""

# $1: workload, $2 and $3: first and last day, $4: attribution
BY_TEAM = """
from window_domains($1, $2, $3, $4)
order by team_lost_gpu_seconds desc, team, domain_lost_gpu_seconds desc, failure_domain
"""

LOAD = "from preemptions_by_load($1, $2, $3, $4) order by day"

# $5: attribution, $6: a cause as domain/category, or any
INTERRUPTIONS = """
select
    job_id,
    lost_gpu_seconds / 3600 as lost_gpu_hours,
    failure_domain || '/' || failure_category as cause,
    attribution,
    message,
    team,
    attempt,
    outcome,
    gpus,
    ended_at{evidence}
from attempts
where
    is_interruption
    and is_counted
    and ended_day between $3 and $4
    and ($1 = 'fleet' or team = $1)
    and ($2 = 'all' or workload = $2)
    and ($5 = 'all' or attribution = $5)
    and ($6 = 'any' or failure_domain || '/' || failure_category = $6)
order by lost_gpu_seconds desc nulls last, job_id asc, attempt asc
limit 200
"""

UNMATCHED = """
select template, count, example, first_seen_at, last_seen_at
from unmatched_messages
order by count desc, template
limit 200
"""

chosen = filters.show()
colours = parts.colours()
opened = openings.opened(chosen, is_weighed=False)

# -- what is counted -----------------------------------------------------------------------------

asked = {name: st.query_params.get(name) for name in ("attribution", "cause")}
counted = (
    st.segmented_control(
        "Interruptions counted",
        COUNTED,
        default=COUNTED[0],
        required=True,
        key="attribution",
        bind="query-params",
        help="infra: whose cause is attributed to infrastructure, as the source of these measures "
        "counts. all: preemptions, errors of users and unknown causes too.",
    )
    or COUNTED[0]
)
filters.say_if_refused("attribution", asked["attribution"], COUNTED, counted)
of_kind = (*chosen.now, counted)
kind = "infra interruptions" if counted == "infra" else "all interruptions"
about = f"{opened.about} \u00b7 {kind}"
nothing = f"There were no {kind.removeprefix('all ')} in these days."
stops.row(chosen, counted, opened)

# -- by day --------------------------------------------------------------------------------------

with parts.card("Interruptions by day", "On which days were jobs stopped, and by what?"):
    team, workload, first, _ = chosen.now
    days = data.frame(BY_DAY, team, workload, first, chosen.newest_day, counted)
    spine = data.frame(selects.DAYS, first, chosen.newest_day)
    earlier = data.frame(stops.ENDS, *chosen.previous, counted).drop_nulls("day")
    earlier = earlier.select(pl.col("day") + timedelta(days=chosen.days), "counted")
    earlier = earlier if chosen.is_compared else earlier.clear()
    if days.is_empty():
        st.caption(nothing)
    else:
        stops.legend(shades(days, colours), colours)
        parts.chart(
            stopped_by_day(
                days,
                spine,
                earlier,
                colours,
                parts.STANDARD,
            ),
            alt=f"Interruptions by day: {stops.days_told(days, spine, chosen.last_day)}. {about}",
            stem=chosen.stem("failures", "by-day"),
            table=filters.marked(days, spine).join(
                earlier.rename({"counted": "previous_interruptions_of_the_day"}),
                on="day",
                how="left",
            ),
            about=about,
            measures=("interruptions", "infra_interruptions"),
            sql=BY_DAY,
        )
        parts.caption(
            words.IN_GREY if chosen.is_compared else "",
            filters.unfinished(filters.marked(days, spine), "interruptions", "Pale"),
        )

# -- what it costs -------------------------------------------------------------------------------

left, right = st.columns([3, 2], gap="small")
with left, parts.card("Cost, not count", "Which domain of causes took the most GPU-hours?"):
    causes = data.frame(CAUSES, *of_kind)
    if causes.is_empty():
        st.caption(nothing)
    else:
        keys = ["failure_domain", "failure_category", "attribution"]
        table = causes.select(*keys, "lost_gpu_seconds", "interruptions")
        if chosen.is_compared:
            earlier = data.frame(CAUSES, *chosen.previous, counted).select(
                *keys,
                previous_lost_gpu_seconds="lost_gpu_seconds",
                previous_interruptions="interruptions",
            )
            stopped_nothing = pl.col("previous_interruptions").is_null()  # and so took nothing
            table = table.join(earlier, on=keys, how="left").with_columns(
                pl.when(stopped_nothing).then(0.0).otherwise("previous_lost_gpu_seconds")
                .alias("previous_lost_gpu_seconds"),
                pl.col("previous_interruptions").fill_null(0),
            )  # fmt: skip
        parts.chart(
            cost(causes, colours),
            on_pick=partial(filters.choose, "cause"),
            alt="GPU-hours that interruptions took, by domain: "
            f"{alts.listed(stops.domains_told(causes))}. {about}",
            stem=chosen.stem("failures", "cost"),
            table=table,
            about=about,
            measures=("interruption_loss_gpu_seconds",),
            sql=CAUSES,
        )
        st.caption(
            f"{stops.cost_of_all(data.row(stops.ENDS, *of_kind))}: training that was discarded, "
            "also that of days before these, and the start-up of the recovery. "
            + (
                "A dot is a count. Choose a cause below for the evidence."
                if causes["lost_gpu_seconds"].drop_nulls().is_empty()
                else "A bar is cut into its causes, a dot is a count. "
                "Click a piece, or choose its cause below, for the evidence."
            )
        )
        with st.expander(f"Every cause: {words.count(table.height)}"):
            stops.causes_table(table, about)

with right, parts.card("Preemptions and load", "Is the fleet busier, or did the scheduler change?"):
    days_before = timedelta(days=LOAD_DAYS - 1)
    load_from = max(chosen.last_day - days_before, chosen.data_starts)
    load = data.frame(LOAD, chosen.team, chosen.workload, load_from, chosen.last_day)
    if load.height < 3:
        st.caption("Too few days with ends. Choose another team or workload.")
    else:
        parts.chart(
            preemption_by_load(load, colours, parts.STANDARD),
            alt=f"Preemption ratio against jobs running, {words.many(load.height, 'day')}: "
            f"{stops.load_sentence(load)}",
            stem=chosen.stem("failures", "load"),
            table=load,
            about=f"{about} \u00b7 {words.days(load_from, chosen.last_day)}",
            measures=("preemption_ratio", "jobs_running"),
            sql=LOAD,
        )
        st.caption(
            f"{stops.load_sentence(load)} A dot a day, {words.days(load_from, chosen.last_day)}; "
            "those of the last 7 days are ringed."
        )

# -- whose it is ---------------------------------------------------------------------------------

with parts.card(
    "Domain by team", "Is it us? What the domain took beside a team's GPU-hours of these days."
):
    cells = data.frame(BY_TEAM, workload, chosen.first_day, chosen.last_day, counted)
    if cells.is_empty():
        st.caption(nothing)
    elif cells["lost_gpu_ratio"].drop_nulls().is_empty():
        st.caption(
            "What these interruptions took is unknown: no source says on how many GPUs, or what "
            "the jobs did."
        )
    else:
        teams = cells["team"].unique(maintain_order=True).to_list()
        shown = teams[:MOST_TEAMS]
        if chosen.team in teams and chosen.team not in shown:
            shown = [*shown[:-1], chosen.team]
        parts.chart(
            heat(
                stops.cells(cells.filter(pl.col("team").is_in(shown))),
                stops.dearest_domains(cells),
                shown,
                colours,
                show=lambda value: words.ratio(value) if value >= 0.0005 else "< 0.1 %",
                marked=chosen.team,
            ),
            alt="What a domain of causes took beside a team's GPU-hours, the largest first: "
            f"{alts.listed(stops.shares_told(cells))}. {about}",
            stem=chosen.stem("failures", "by-team"),
            table=lambda: cells.join(
                (
                    data.frame(BY_TEAM, workload, *chosen.previous[2:], counted)
                    if chosen.is_compared
                    else cells.clear()
                ).select("team", "failure_domain", previous_lost_gpu_ratio="lost_gpu_ratio"),
                on=["team", "failure_domain"],
                how="left",
                maintain_order="left",
            ),
            about=about,
            measures=("interruption_loss_gpu_seconds",),
            sql=BY_TEAM,
            least_width=760 if len(shown) > FEW_TEAMS else parts.LABELLED,
        )
        if (cells["lost_gpu_ratio"].fill_null(0) > 1).any():
            st.caption("Over 100 %: what was discarded had been trained on days before these, too.")
        if len(teams) > len(shown):
            dearest = sum(name in shown for name in teams[: len(shown)])
            others = "" if dearest == len(shown) else f", and {words.code(chosen.team)}"
            st.caption(
                f"The {dearest} teams that lost most to interruptions{others}; "
                f"{len(teams) - len(shown)} more are in the CSV."
            )

# -- the evidence --------------------------------------------------------------------------------

with parts.card("Evidence", "Which interruptions were these, and what did they say?"):
    offered = ["any", *data.frame(CAUSE_NAMES, *of_kind)["cause"]]
    cause = st.selectbox(
        "Cause",
        offered,
        key="cause",
        bind="query-params",
        filter_mode="contains",
        help="The causes of these days, the dearest first where their cost is known",
    )
    filters.say_if_refused("cause", asked["cause"], offered, cause)
    found = data.frame(
        INTERRUPTIONS.format(evidence=evidence.select_list()), *of_kind, cause or "any"
    )
    if found.is_empty():
        st.caption(nothing)
    else:
        if found.height == MOST_ROWS:
            is_weighed = found["lost_gpu_hours"][0] is not None
            which = "that cost most" if is_weighed else "first by job, of unknown cost"
            st.caption(f"The {MOST_ROWS} {which}. {words.SELECT_ROW} to see the job.")
        else:
            st.caption(f"{words.SELECT_ROW} to see the job.")
        stops.interruptions_table(found, about)
        parts.footer(
            stem=chosen.stem("failures", "evidence"),
            table=found,
            about=f"{about} \u00b7 cause {cause}",
            measures=("interruption_loss_gpu_seconds",),
            sql=INTERRUPTIONS.format(evidence=evidence.select_list()),
        )

with parts.card("Messages that no rule knows", "Which pattern is worth adding?", parts.SPARKLINE):
    unmatched = data.frame(UNMATCHED)
    if unmatched.is_empty():
        st.caption(
            "None. Interruptions without any message, or without a known cause, are the "
            "uncategorised share above."
        )
    else:
        which = f", the {MOST_ROWS} most frequent" if unmatched.height == MOST_ROWS else ""
        st.caption(f"Of all teams and all days{which}.")
        st.dataframe(
            unmatched,
            hide_index=True,
            alt=f"Messages that no rule knows, {words.many(unmatched.height, 'template')}",
            column_config={
                "template": st.column_config.TextColumn("template", width="large"),
                "count": st.column_config.NumberColumn("times", format="localized"),
                "first_seen_at": st.column_config.DatetimeColumn(
                    "first, UTC", format="D MMM YYYY HH:mm"
                ),
                "last_seen_at": st.column_config.DatetimeColumn(
                    "last, UTC", format="D MMM YYYY HH:mm"
                ),
            },
        )
        parts.footer(
            stem=chosen.stem("failures", "unmatched"),
            table=unmatched,
            about="Messages that no rule knows, all days",
            sql=UNMATCHED,
        )
