"""The evidence of one regression: what moved, since when, what carries it, why it is not noise.

Draws what the tables of the detector say of it; every card reads its own, and fails alone.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

import polars as pl
import streamlit as st

from app import alts, data, filters, money, parts, regression_rows, regression_words, stops, words
from app.charts import regression
from app.charts.causes import shades
from app.charts.dumbbells import dumbbells
from app.palette import Palette
from app.regression_list import link

ALERT: Final = "EttRegression"
_MOST_PARTS: Final = 14
_WHOLES: Final = ("tts_seconds", "ttr_seconds")
# why nothing is told of a series that has a baseline
_JUDGED: Final = ("not_enough_evidence", "part_of_another")


@dataclass(frozen=True, slots=True)
class Case:
    """The row of `regressions` that the page shows, and how its exports are named."""

    row: Mapping[str, Any]
    about: str
    stem: str

    @property
    def key(self) -> tuple[str, str, date]:
        """Parameters of the selects of the evidence."""
        return self.row["team"], self.row["metric"], self.row["started_on"]

    @property
    def metric(self) -> str:
        return str(self.row["metric"])


def case(row: Mapping[str, Any]) -> Case:
    """The evidence of this row."""
    team, metric, day = row["team"], row["metric"], row["started_on"]
    return Case(
        row=row,
        about=f"{regression_words.measure(metric)} of {regression_words.whose(team)} "
        f"{regression_words.span(row)}",
        stem=f"ett_regression_{words.slug(metric)}_{words.slug(team)}_{day:%Y%m%d}",
    )


# -- what is claimed -----------------------------------------------------------------------------


def claim(shown: Case) -> None:
    """The sentence, its numbers, and where to go with it."""
    row = shown.row
    with st.container(border=True, gap="small"):
        st.header(
            f"{words.code(regression_words.measure(shown.metric))} of "
            f"{words.code(regression_words.whose(row['team']))}",
            anchor=False,
        )
        st.markdown(" \u00b7 ".join(_status(row)))
        # not Markdown: an address within a team's name would become a link
        told = html.escape(words.clipped(row["sentence"] or shown.about, 1500))
        st.html(f'<p style="margin:0;line-height:1.5">{told}</p>')
        with st.grid(5, min_column_width=150, gap="small"):
            _numbers(row)
        _ways(shown)


def _status(row: Mapping[str, Any]) -> Iterator[str]:
    yield regression_words.severity(row["severity"])
    yield {
        "open": "**open**",
        "closed": "**closed**",
        "incident": "**incident**, gone by itself",
        "held_back": "**held back**",
    }.get(row["state"], words.code(row["state"] or words.UNKNOWN))
    meaning = regression_words.meaning(row)
    name = regression_words.marked_verdict(row)
    yield f"**{name}**: {meaning}" if meaning else f"**{name}**"
    if row["held_back_by"]:
        yield f"held back: {regression_words.reason(row['held_back_by'])}"
    if row["closed_on"]:
        why = regression_words.ENDINGS.get(row["closed_because"] or "", "")
        yield f"closed {words.day(row['closed_on'])}{f', {why}' if why else ''}"


def _numbers(row: Mapping[str, Any]) -> None:
    metric = row["metric"]
    unit = f"{per}, " if (per := regression_words.per(row)) else ""
    _number(
        "Before",
        regression_words.plain(metric, row["expected"]),
        f"{unit}{words.many(row['attempts_before'], 'attempt')}",
    )
    _number(
        "Now" if row["ended_on"] is None and row["closed_on"] is None else "During",
        regression_words.plain(metric, row["observed"]),
        f"{unit}{words.many(row['attempts_after'], 'attempt')}",
    )
    _number(
        "Change",
        regression_words.change(row["change_ratio"]),
        regression_words.span(row),
    )
    cost = row["lost_gpu_seconds_per_day"]
    said = regression_words.uncosted(row) if cost is None else "over what was expected"
    _number("GPU-hours a day", words.hours(cost), money.beside(said, cost))
    _number("Found after", *_detection(row))


def _detection(row: Mapping[str, Any]) -> tuple[str, str]:
    days, agreed = row["days_to_detect"], row["sla_days"]
    if days is None:
        return words.UNKNOWN, f"not told of; agreed are {words.many(agreed, 'day')}"
    on = f" \u00b7 by the data to {words.day(row['detected_on'])}" if row["detected_on"] else ""
    if row["is_within_sla"]:
        mark = f":green[:material/check_circle: within the {words.many(agreed, 'day')} agreed]"
    else:
        mark = f":red[:material/error: later than the {words.many(agreed, 'day')} agreed]"
    return words.many(days, "day"), f"{mark}{on}"


def _number(label: str, value: str, note: str) -> None:
    with st.container(border=True, height="stretch", gap="xsmall"):
        st.metric(label, value)
        st.caption(note)


def _ways(shown: Case) -> None:
    row = shown.row
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        with st.popover("Copy link", type="tertiary", icon=":material/link:"):
            st.code(_address(row), language=None, wrap_lines=True)
        st.page_link(
            "views/runbook.py",
            label="Runbook",
            icon=":material/menu_book:",
            query_params={"alert": ALERT},
        )
        if row["verdict"] in ("preemptions", "failures"):
            label, icon = "Failures & preemption", ":material/report:"
            page, name, value = "views/failures.py", "attribution", "all"
        elif row["phase"] in filters.LOST_AREAS:
            label, icon = "Lost time", ":material/hourglass_bottom:"
            page, name, value = "views/lost_time.py", "area", row["phase"]
        else:
            return
        days = filters.reaching(row["started_on"], row["ended_on"] or row["closed_on"])
        if days is None:
            st.caption(f"{label} reaches back {filters.DAYS[-1]} days: not to the days of this.")
            return
        # a series is of all workloads, by GPUs; the filters of a page cannot be set by a link
        scope = {"team": row["team"], "workload": filters.ALL, "weight": filters.WEIGHTS[0]}
        st.button(
            label,
            type="tertiary",
            icon=icon,
            help=f"All workloads, {days} days",
            on_click=filters.go,
            args=(page, {name: value}),
            kwargs={**scope, "days": days, name: value},
        )


def _address(row: Mapping[str, Any]) -> str:
    base = (st.context.url or "regressions").split("?")[0]
    return f"{base}?{urlencode(link(row))}"


# -- when ----------------------------------------------------------------------------------------


def series(shown: Case, colours: Palette) -> None:
    """The days around it."""
    with parts.card("The days around it", "Since when, and beyond what is usual?", parts.EVIDENCE):
        points = data.frame(regression_rows.POINTS, *shown.key)
        if points.is_empty():
            st.caption("No days are kept for this series.")
            return
        team = shown.row["team"]
        days = points["day"].min(), points["day"].max()
        changes = _changes(team, *days)
        lane = _stops(team, *days)
        looks = shades(lane, colours)
        parts.chart(
            regression.series(
                points,
                team,
                shown.metric,
                _marks(shown.row),
                changes,
                (lane, looks),
                colours,
                parts.EVIDENCE,
            ),
            alt=f"By day: {_days_told(points.filter(series_team=team), shown.metric)}. "
            f"{shown.about}",
            stem=f"{shown.stem}_days",
            table=points,
            about=shown.about,
            sql=regression_rows.POINTS,
        )
        others = points["series_team"].n_unique() - 1
        st.caption(
            "Line with dots: this series. Blue: what is expected of a day, and the band in which "
            "most days lie"
            + (f". Grey: {words.many(others, 'other team')}" if others else "")
            + (". Diamonds: what was rolled out" if changes.height else "")
            + ". Columns: what stopped attempts in the same days."
        )
        if looks:
            stops.legend(looks, colours)
        _said_changes(shown)


def _days_told(days: pl.DataFrame, metric: str) -> str:
    return alts.by_day(days, date.max, "observed", partial(regression_words.plain, metric))


def _changes(team: str, first: Any, last: Any) -> pl.DataFrame:
    """What was rolled out; a chart does without its marks where that cannot be read."""
    try:
        return data.frame(regression_rows.CHANGES, team, first, last)
    except data.ViewFailed:
        return pl.DataFrame(schema={"day": pl.Date, "name": pl.String, "description": pl.String})


def _stops(team: str, first: Any, last: Any) -> pl.DataFrame:
    try:
        return data.frame(regression_rows.STOPS, team, first, last)
    except data.ViewFailed:
        return pl.DataFrame(
            schema={
                "day": pl.Date,
                "attribution": pl.String,
                "failure_domain": pl.String,
                "interruptions": pl.Int64,
            }
        )


def _marks(row: Mapping[str, Any]) -> list[regression.Mark]:
    marks = [
        regression.Mark(
            row["started_on"], f"since {words.day(row['started_on'])} ", is_first=True, is_left=True
        )
    ]
    if row["detected_on"]:
        marks.append(regression.Mark(row["detected_on"], " found"))
    if row["ended_on"] and row["ended_on"] != row["detected_on"]:
        marks.append(regression.Mark(row["ended_on"], " last day"))
    return marks


def _said_changes(shown: Case) -> None:
    near = data.frame(regression_rows.NEAR_CHANGES, *shown.key)
    for change in near.iter_rows(named=True):
        before = change["days_before"]
        when = (
            "on the first day"
            if before == 0
            else f"{words.many(abs(before), 'day')} {'before' if before > 0 else 'after'}"
        )
        to = "all teams" if change["change_team"] is None else words.code(change["change_team"])
        told = f": {words.code(change['description'], 200)}" if change["description"] else ""
        st.markdown(
            f":material/deployed_code_update: {words.code(change['name'])} was rolled out to {to} "
            f"{when}{told}"
        )


def apart(shown: Case, colours: Palette) -> None:
    """Days before and after."""
    with parts.card("Before and after", "How far apart are the days?", 190):
        row = shown.row
        span = row["before_from"], row["after_to"]
        own = data.frame(regression_rows.APART, *shown.key, *span)
        if own.is_empty():
            st.caption("No days are kept for this series.")
            return
        before, after = own.filter(when="before"), own.filter(when="after")
        parts.chart(
            regression.days_apart(before, after, shown.metric, colours),
            alt=f"Days before: {_days_told(before, shown.metric)}. "
            f"After: {_days_told(after, shown.metric)}. {shown.about}",
            stem=f"{shown.stem}_before_after",
            table=own,
            about=shown.about,
            sql=regression_rows.APART,
        )
        st.caption(
            "A dot is a day as it was told: other work shows in it too, and what is expected above "
            "follows it. Single attempts are not kept for a series: those that cost most are "
            "listed below."
        )


# -- what carries it -----------------------------------------------------------------------------


def phases(shown: Case, colours: Palette) -> None:
    """Mean seconds of each phase and stage, before and after."""
    with parts.card("Phases", "Which part of a run takes longer?"):
        told = data.frame(regression_rows.PARTS, *shown.key)
        # starting and recovering are sums of the others, and an hour among seconds hides them
        drawn = told.drop_nulls("after_seconds").filter(~pl.col("part").is_in(_WHOLES))
        if drawn.is_empty():
            st.caption("No phase was timed in these days.")
            return
        parts.chart(
            dumbbells(
                pl.DataFrame(
                    {
                        "stage": [_short(each) for each in drawn["part"]],
                        "mean_seconds": drawn["after_seconds"],
                        "previous_mean_seconds": drawn["before_seconds"],
                    }
                ).head(_MOST_PARTS),
                colours,
            ),
            alt=f"Mean of each phase before and after: {alts.listed(_parts_told(drawn))}. "
            f"{shown.about}",
            stem=f"{shown.stem}_phases",
            table=told,
            about=shown.about,
            sql=regression_rows.PARTS,
        )
        more = drawn.height - _MOST_PARTS
        st.caption(
            "Ring: mean before. Dot: mean since. A name after a dot is a stage. Sorted by change"
            + (f"; {words.many(more, 'more part')} in the CSV." if more > 0 else ".")
        )


def _parts_told(drawn: pl.DataFrame) -> list[tuple[str, str]]:
    """Phases and stages with their means in words; rows of PARTS."""
    return [
        (
            regression_words.measure(part),
            f"{words.duration(before)} \u2192 {words.duration(after)}",
        )
        for part, before, after in drawn.select("part", "before_seconds", "after_seconds").rows()
    ]


def _short(part: str) -> str:
    """A stage without its phase, which a phone has no room for; a phase as it is."""
    phase, _, stage = regression_words.measure(part).partition(" \u00b7 ")
    return f"\u00b7 {stage}" if stage else phase


def split(shown: Case, colours: Palette) -> None:
    """How much of the change is the same work, and how much other work."""
    with parts.card("Speed or mix", "Does the same work take longer, or is it other work?"):
        whole = data.row(regression_rows.SPLIT, *shown.key)
        if not whole or whole["speed_change"] is None or whole["mix_change"] is None:
            st.caption("This series has no classes of work to compare.")
            return
        st.markdown(
            f"On means: {regression_words.plain(shown.metric, whole['before_mean'])} \u2192 "
            f"{regression_words.plain(shown.metric, whole['after_mean'])}, "
            f"**{regression_words.difference(shown.metric, whole['mean_change'])}**"
            f" {regression_words.per(shown.row)}".rstrip()
        )
        classes = data.frame(regression_rows.CLASSES, *shown.key)
        parts.chart(
            regression.split(shown.metric, whole["speed_change"], whole["mix_change"], colours),
            alt="Change of the mean: same work "
            f"{regression_words.difference(shown.metric, whole['speed_change'])}, other work "
            f"{regression_words.difference(shown.metric, whole['mix_change'])}. {shown.about}",
            stem=f"{shown.stem}_split",
            table=pl.DataFrame([whole]),
            about=f"{shown.about}, on means",
            sql=regression_rows.SPLIT,
        )
        st.caption(
            "On means, where the sentence compares like with like: the two bars sum to the change "
            "exactly."
        )
        with st.expander(f"Every class of work: {words.count(classes.height)}"):
            _classes(shown, classes)


def _classes(shown: Case, classes: pl.DataFrame) -> None:
    rows = list(classes.iter_rows(named=True))

    def means(column: str, told: Any) -> list[str]:
        return [told(shown.metric, row[column]) for row in rows]

    st.dataframe(
        pl.DataFrame(
            {
                "workload": classes["workload"],
                "GPUs": [_size(row) for row in rows],
                "share before": classes["before_share"] * 100,
                "share after": classes["after_share"] * 100,
                "before": means("before_value", regression_words.plain),
                "after": means("after_value", regression_words.plain),
                "same work": means("speed_change", regression_words.difference),
                "other work": means("mix_change", regression_words.difference),
            }
        ),
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt=f"Classes of work before and after. {shown.about}",
        column_config={
            name: st.column_config.NumberColumn(format="%.1f %%")
            for name in ("share before", "share after")
        },
    )
    parts.footer(
        stem=f"{shown.stem}_classes",
        table=classes,
        about=f"{shown.about}, on means",
        sql=regression_rows.CLASSES,
    )


def _size(row: Mapping[str, Any]) -> str:
    first, last = row["gpus_from"], row["gpus_to"]
    if last is None:
        return "unknown"
    return words.count(last) if first == last else f"{words.count(first)} to {words.count(last)}"


def causes(shown: Case) -> None:
    """What stopped attempts before and since."""
    with parts.card("Failures and preemptions", "What stopped attempts, before and since?"):
        told = data.frame(regression_rows.CAUSES, *shown.key)
        if told.is_empty():
            st.caption("Nothing stopped an attempt in these days.")
            return
        rows = list(told.iter_rows(named=True))
        st.dataframe(
            pl.DataFrame(
                {
                    "cause": [f"{row['failure_domain']}/{row['failure_category']}" for row in rows],
                    "a day": [_pair(row["before_per_day"], row["after_per_day"]) for row in rows],
                    "GPU-hours a day": [
                        f"{words.hours(row['lost_gpu_seconds_before_per_day'])} \u2192 "
                        f"{words.hours(row['lost_gpu_seconds_after_per_day'])}"
                        for row in rows
                    ],
                }
            ),
            hide_index=True,
            height=parts.table_height(told.height, 300),
            alt=f"Causes of interruptions a day, before and since. {shown.about}",
        )
        parts.footer(
            stem=f"{shown.stem}_causes",
            table=told,
            about=f"{shown.about}, a day",
            sql=regression_rows.CAUSES,
        )


def _pair(before: float | None, after: float | None) -> str:
    return " \u2192 ".join(
        words.UNKNOWN if each is None else _little(each) for each in (before, after)
    )


def _little(amount: float) -> str:
    """One decimal, but where that would hide that it is not nothing."""
    return f"{amount:,.1f}" if amount == 0 or abs(amount) >= 0.05 else f"{amount:.1g}"


def jobs(shown: Case) -> None:
    """The attempts that cost most; a selected row opens the job."""
    with parts.card("Jobs", "Which attempts contribute most?"):
        told = data.frame(regression_rows.JOBS, *shown.key)
        if told.is_empty():
            st.caption("No single attempt carries it.")
            return
        rows = list(told.iter_rows(named=True))
        # of none are the GPUs known, or those of others come first
        is_weighed = told["excess_gpu_seconds"].null_count() < told.height
        weight = "GPU-hours" if is_weighed else "wall hours"
        hours = told["excess_gpu_seconds" if is_weighed else "excess_seconds"] / 3600
        columns = {
            "job_id": told["job_id"],
            weight: hours,
            "attempt": told["attempt"],
            "team": told["job_team"],
            "day": told["day"],
            "GPUs": told["gpus"],
        }
        is_time = regression_words.is_time(shown.metric)
        if told["seconds"].null_count() < told.height:
            # of a share the whole, of which nothing is usual
            took = "took" if is_time else "lost on the day"
            columns[took] = pl.Series([words.duration(row["seconds"]) for row in rows])
        if is_time:
            columns["its class before"] = pl.Series(
                [words.duration(row["expected_seconds"]) for row in rows]
            )
        st.caption(f"{_contribution(shown.metric)} {words.SELECT_ROW} to see the job.")
        parts.jobs_table(
            pl.DataFrame(columns),
            key="regression jobs",
            most=420,
            alt=f"Attempts that contribute most. {shown.about}",
            columns={
                "day": st.column_config.DateColumn(format="D MMM"),
                weight: st.column_config.ProgressColumn(
                    format="compact",
                    min_value=0,
                    max_value=parts.most_of(hours),
                ),
            },
        )
        parts.footer(
            stem=f"{shown.stem}_jobs", table=told, about=shown.about, sql=regression_rows.JOBS
        )


def _contribution(metric: str) -> str:
    """What the hours of an attempt are that contributed to a change of this measure."""
    if regression_words.is_time(metric):
        return "Over what their class of work took before."
    if metric == "ett_ratio":
        return "All of their time that did not train."
    return "What their ends, or their stalls, cost."


def beside(shown: Case) -> None:
    """What else moved, and for a change of the fleet which teams."""
    with parts.card("What else moved", "One cause, seen in other measures or teams"):
        told = data.frame(regression_rows.SYMPTOMS, *shown.key)
        if told.is_empty():
            st.caption("Nothing else moved with it.")
        else:
            rows = list(told.iter_rows(named=True))
            st.dataframe(
                pl.DataFrame(
                    {
                        "change": [regression_words.change(row["change_ratio"]) for row in rows],
                        "measure": [
                            regression_words.measure(row["symptom_metric"]) for row in rows
                        ],
                        "team": [regression_words.whose(row["symptom_team"]) for row in rows],
                        "before \u2192 since": [
                            f"{regression_words.plain(row['symptom_metric'], row['expected'])} "
                            "\u2192 "
                            f"{regression_words.plain(row['symptom_metric'], row['observed'])}"
                            for row in rows
                        ],
                        "since": told["symptom_started_on"],
                    }
                ),
                hide_index=True,
                height=parts.table_height(told.height, 300),
                alt=f"What else moved. {shown.about}",
                column_config={
                    "change": st.column_config.TextColumn(width=70),
                    "measure": st.column_config.TextColumn(width=170),
                    "since": st.column_config.DateColumn(format="D MMM"),
                },
            )
            parts.footer(
                stem=f"{shown.stem}_symptoms",
                table=told,
                about=shown.about,
                sql=regression_rows.SYMPTOMS,
            )
        if shown.row["team"] == "fleet":
            _teams(shown)


def _teams(shown: Case) -> None:
    told = data.frame(regression_rows.TEAMS, *shown.key)
    if told.is_empty():
        return
    st.caption("What each team adds to the change; the shares sum to 100 %.")
    st.dataframe(
        told.select(
            team="series_team",
            share=pl.col("share") * 100,
            change=pl.Series(
                [regression_words.change(each) for each in told["change_ratio"]], dtype=pl.String
            ),
        ),
        hide_index=True,
        height=parts.table_height(told.height, 300),
        placeholder=words.UNKNOWN,
        alt=f"What each team adds. {shown.about}",
        column_config={"share": st.column_config.NumberColumn(format="%.0f %%")},
    )
    parts.footer(
        stem=f"{shown.stem}_teams", table=told, about=shown.about, sql=regression_rows.TEAMS
    )


# -- why it is not noise -------------------------------------------------------------------------


def gates(shown: Case) -> None:
    """Each gate with its value, and the smallest change that this series could show."""
    with parts.card("Gates", "Why is it not noise?"):
        told = data.frame(regression_rows.GATES, *shown.key)
        if told.is_empty():
            st.caption("No gate was asked.")
        else:
            asked = [regression_words.gate(row) for row in told.iter_rows(named=True)]
            st.dataframe(
                pl.DataFrame(
                    {
                        "passed": [
                            "\u2713 passed" if each else "\u2717 not passed"
                            for each in told["is_passed"]
                        ],
                        "measured": [each[1] for each in asked],
                        "needed": [each[2] for each in asked],
                        "gate": [each[0] for each in asked],
                    }
                ),
                hide_index=True,
                alt=f"Gates with their values. {shown.about}",
                column_config={
                    "passed": st.column_config.TextColumn(width="small"),
                    "gate": st.column_config.TextColumn(width="large"),
                },
            )
        st.caption(_smallest(shown))
        parts.footer(
            stem=f"{shown.stem}_gates", table=told, about=shown.about, sql=regression_rows.GATES
        )


def _smallest(shown: Case) -> str:
    team, metric, _ = shown.key
    # a file from before has no such column
    if (before := shown.row.get("smallest_change_ratio")) is not None:
        return (
            "The smallest change that this series would have shown on the day before, within 14 "
            f"days in four cases of five: {regression_words.change(before)}."
        )
    told = data.row(regression_rows.SMALLEST, team, metric)
    if told and told["smallest_change_ratio"] is not None:
        return (
            "The smallest change that this series would show now, within 14 days in four cases of "
            f"five: {regression_words.change(told['smallest_change_ratio'])}."
        )
    if told and told["held_back_by"] in _JUDGED:
        return (
            "No change that this series can have would show now, within 14 days in four cases of "
            "five: it is told of by too little."
        )
    if told:
        return (
            "The smallest change that this series could show is not known: "
            f"{regression_words.quiet_reason(told['held_back_by'])}."
        )
    return (
        "The smallest change that this series could show is told of quiet series only; this one "
        "is not quiet."
    )
