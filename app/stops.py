"""The pieces of Failures & preemption: its numbers, its legend, its tables, its sentences.

Draws what the page selects, and the five numbers from one select of their own.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

import polars as pl
import streamlit as st

from app import alts, data, evidence, filters, money, openings, parts, tiles, words
from app.charts.causes import Shade
from app.palette import Palette

ALARM: Final = 0.10  # uncategorised share; above, naming causes comes before mending them

# $5: attribution
ENDS: Final = "from window_ends($1, $2, $3, $4, $5) order by day nulls first"
# $5: attribution
LEFT_OUT: Final = """
select attribution, sum(interruptions) as interruptions
from window_interruptions($1, $2, $3, $4)
where attribution <> $5
group by attribution
order by interruptions desc, attribution
"""

_MORE: Final = (
    (100, "A hundred more jobs running go"),
    (10, "Ten more jobs running go"),
    (1, "One more job running goes"),
)
_LINE_DAYS: Final = 7  # before the last ones, as in the view preemptions_by_load


def row(chosen: filters.Scope, counted: str, opened: openings.Opened) -> None:
    """The five numbers. A view that fails is said."""
    try:
        _row(chosen, counted, opened)
    except data.ViewFailed as failure:
        parts.failed(failure)


def _row(chosen: filters.Scope, counted: str, opened: openings.Opened) -> None:
    now = data.row(ENDS, *chosen.now, counted)
    before = data.row(ENDS, *chosen.previous, counted) if chosen.is_compared else {}
    days = data.frame(ENDS, *chosen.month, counted).drop_nulls("day")
    measures = words.glossary()
    if counted == "infra" and now["interruptions"]:
        left = data.frame(LEFT_OUT, *chosen.now, counted)
        others = alts.listed((name, words.count(number)) for name, number in left.rows())
        st.caption(
            f"Counted below: {words.count(now['counted'])} of "
            f"{words.many(now['interruptions'], 'interruption')}."
            + (f" Not counted, by attribution: {others}; choose all to see them." if others else "")
        )
    with st.grid(5, min_column_width=150, gap="small"):
        tiles.kpi(
            measures["interruptions_per_1000_gpu_days"],
            now["interruptions_per_1000_gpu_days"],
            before.get("interruptions_per_1000_gpu_days"),
            label="Per 1,000 GPU-days",
            show=_rate,
            difference=lambda change: words.more(change, 2),
            rests_on=opened.now["attempts_weighed"],
            rested_on=opened.before.get("attempts_weighed"),
            note=_held_against(now),
            series=days["interruptions_per_1000_gpu_days"].to_list(),
        )
        tiles.kpi(
            measures["between_interruptions_seconds"],
            now["between_interruptions_seconds"],
            before.get("between_interruptions_seconds"),
            label="Time between them",
            show=words.duration,
            difference=words.more_time,
            rests_on=now["counted"],
            rested_on=before.get("counted"),
            note=_one_in(now),
            series=days["between_interruptions_seconds"].to_list(),
        )
        tiles.kpi(
            measures["preemption_ratio"],
            now["preemption_ratio"],
            before.get("preemption_ratio"),
            show=words.ratio,
            difference=words.points,
            rests_on=now["attempts_ended"],
            rested_on=before.get("attempts_ended"),
            note=f"{words.count(now['preempted'])} of {words.count(now['attempts_ended'])} ends",
            series=days["preemption_ratio"].to_list(),
        )
        tiles.kpi(
            measures["infra_ratio"],
            now["infra_ratio"],
            before.get("infra_ratio"),
            show=words.ratio,
            difference=words.points,
            rests_on=now["interruptions"],
            rested_on=before.get("interruptions"),
            note=f"{words.count(now['infra_interruptions'])} of "
            f"{words.many(now['interruptions'], 'interruption')}",
            series=days["infra_ratio"].to_list(),
        )
        share = now["uncategorised_ratio"]
        nameless = (
            f"{words.count(now['uncategorised_interruptions'])} of "
            f"{words.many(now['interruptions'], 'interruption')}"
        )
        tiles.kpi(
            measures["uncategorised_ratio"],
            share,
            before.get("uncategorised_ratio"),
            label="Uncategorised",
            show=words.ratio,
            difference=words.points,
            rests_on=now["interruptions"],
            rested_on=before.get("interruptions"),
            note=f":orange[:material/warning: over {words.ratio(ALARM, 0)}] \u00b7 {nameless}"
            if share is not None and share > ALARM
            else nameless,
            series=days["uncategorised_ratio"].to_list(),
        )
    # what an older release published does not tell them
    if "counted_failures" in now:
        st.caption(_failures_alone(now, counted))


def _failures_alone(now: Mapping[str, Any], counted: str) -> str:
    """How often attempts failed, without preemptions."""
    failures, known = now["counted_failures"], now["counted_failures_of_known_gpus"]
    kind = "infra failure" if counted == "infra" else "failure"
    told = [f"Without preemptions: {words.many(failures, kind)}"]
    if failures:
        told.append(f"one in {words.duration(now['between_failures_seconds'])} of attempts")
    if known:
        between = words.hours(now["between_failures_gpu_seconds"])
        of_known = "" if known == failures else f", of {words.count(known)} whose GPUs are known"
        rate = _rate(now["failures_per_1000_gpu_days"])
        told.append(f"one in {between} GPU-hours, {rate} per 1,000 GPU-days{of_known}")
    return " \u00b7 ".join(told) + "."


def legend(drawn: Sequence[Shade], palette: Palette) -> None:
    """Attributions with the domains of each, in the order of the stack."""
    items = []
    for place, shade in enumerate(drawn):
        if not place or drawn[place - 1].attribution != shade.attribution:
            items.append(f"<b>{html.escape(shade.attribution)}</b>")
        items.append(
            f'<span style="white-space:nowrap"><span style="'
            f'{parts.swatch(shade.fill, shade.pattern, palette)}"></span>'
            f"{html.escape(words.clipped(shade.domain, 40))}</span>"
        )
    st.html(
        '<div style="display:flex;flex-wrap:wrap;gap:4px 14px;font-size:0.85rem;'
        f'color:{palette.muted}">{"".join(items)}</div>'
    )


def days_told(days: pl.DataFrame, spine: pl.DataFrame, last_day: date) -> str:
    """Interruptions of the days in words, and by domain; rows of `interruptions_by_day`."""
    of_day = days.group_by("day").agg(pl.col("interruptions").sum())
    every = spine.select("day").join(of_day, on="day", how="left")
    by_domain = (
        days.filter(pl.col("day") <= last_day)
        .group_by("failure_domain")
        .agg(pl.col("interruptions").sum())
        .sort(-pl.col("interruptions"), "failure_domain")
    )
    told = alts.by_day(every.fill_null(0), last_day, "interruptions", words.count)
    return f"{told}; {alts.listed((name, words.count(many)) for name, many in by_domain.rows())}"


def domains_told(causes: pl.DataFrame) -> list[tuple[str, str]]:
    """Domains with what they lost and how often, the dearest first; rows of `window_causes`."""
    each = causes.unique("failure_domain").select(
        "failure_domain", "domain_lost_gpu_seconds", "domain_interruptions"
    )
    ranked = each.sort(-pl.col("domain_lost_gpu_seconds"), "failure_domain", nulls_last=True)
    return [
        (name, f"{words.hours(lost)} in {words.many(many, 'interruption')}")
        for name, lost, many in ranked.rows()
    ]


def shares_told(domains: pl.DataFrame) -> list[tuple[str, str]]:
    """Teams and domains with the share that was lost, the largest first; rows of
    `window_domains`.
    """
    ranked = domains.drop_nulls("lost_gpu_ratio").sort(
        -pl.col("lost_gpu_ratio"), "team", "failure_domain"
    )
    return [
        (f"{team} {domain}", words.ratio(share))
        for team, domain, share in ranked.select("team", "failure_domain", "lost_gpu_ratio").rows()
    ]


def load_sentence(load: pl.DataFrame) -> str:
    """What the scatter of preemptions and load says, from its own columns."""
    if load.is_empty() or load["fitted_ratio"][0] is None:
        # of seven days there is a line, unless none of them differs from the others
        if load.filter(~pl.col("is_recent")).height >= _LINE_DAYS:
            return "Before the last 7 days equally many jobs ran on each: there is no line."
        return "There are too few days for a line."
    jobs = load["jobs_running"].to_numpy()
    # no more than days differ by: what a hundred would do, days with ten jobs do not say
    more, told = next(each for each in _MORE if each[0] <= max(jobs.max() - jobs.min(), 1))
    moved = words.points(load["ratio_per_job"][0] * more)
    slope = f"{told} with {moved} of preemption ratio."
    distance = load["recent_distance_ratio"][0]
    if distance is None:
        return slope
    usual: float = (
        2 * load["usual_distance_ratio"][0] / load["is_recent"].to_list().count(True) ** 0.5
    )
    if abs(distance) <= usual:
        return (
            f"{slope} The last 7 days, each weighing as much as attempts ended on it, lie on the "
            "line, within what days vary."
        )
    side, meaning = (
        ("above", "the scheduler took more than the load explains")
        if distance > 0
        else ("below", "the scheduler took less than the load explains")
    )
    size = words.points(abs(distance)).lstrip("+")
    return (
        f"{slope} The last 7 days, each weighing as much as attempts ended on it, lie {size} "
        f"{side} it: {meaning}."
    )


def dearest_domains(found: pl.DataFrame) -> list[str]:
    """The domains of a table with what each lost, the dearest first and the unknown last."""
    dearest = found.sort(-pl.col("domain_lost_gpu_seconds"), "failure_domain", nulls_last=True)
    return dearest["failure_domain"].unique(maintain_order=True).to_list()


def cells(domains: pl.DataFrame) -> pl.DataFrame:
    """Rows of `window_domains` as cells of the heat table."""
    return domains.select(
        row="failure_domain",
        column="team",
        value="lost_gpu_ratio",
        hover=pl.Series(
            [
                f"<b>{words.figure(team, 256)}</b>, {words.figure(domain)}<br>"
                f"{words.hours(lost)} GPU-hours, {words.many(interruptions, 'interruption')}"
                for team, domain, lost, interruptions in domains.select(
                    "team", "failure_domain", "lost_gpu_seconds", "interruptions"
                ).iter_rows()
            ],
            dtype=pl.String,
        ),
    )


def causes_table(causes: pl.DataFrame, about: str) -> None:
    """Every cause with its attribution, cost and count."""
    hours = [
        (pl.col(name) / 3600).alias(name.replace("seconds", "hours"))
        for name in causes.columns
        if name.endswith("gpu_seconds")
    ]
    shown = causes.with_columns(hours).select(pl.exclude("^.*gpu_seconds$"))
    st.dataframe(
        shown,
        hide_index=True,
        placeholder=words.UNKNOWN,
        alt=f"Every cause. {about}",
        column_config={
            name: st.column_config.NumberColumn(name.replace("_", " "), format="compact")
            for name in shown.columns
            if name.endswith(("hours", "interruptions"))
        },
    )


def interruptions_table(found: pl.DataFrame, about: str) -> None:
    """The interruptions; a selected row opens the attempt."""
    parts.jobs_table(
        found,
        key="interruptions table",
        most=420,
        alt=f"{words.many(found.height, 'interruption')}. {about}",
        order=evidence.shown(found.columns),
        columns={
            "lost_gpu_hours": st.column_config.ProgressColumn(
                "lost GPU-hours",
                format="compact",
                min_value=0,
                max_value=parts.most_of(found["lost_gpu_hours"]),
            ),
            "message": st.column_config.TextColumn("message", width="large"),
            "gpus": st.column_config.NumberColumn("GPUs"),
            "ended_at": st.column_config.DatetimeColumn("ended, UTC", format="D MMM HH:mm"),
            "failure_rule": st.column_config.TextColumn("rule"),
            "failure_evidence": st.column_config.TextColumn("evidence", width="large"),
            "failure_evidence_file": st.column_config.TextColumn("dump", width="medium"),
            "failure_evidence_line": st.column_config.NumberColumn("line", format="%d"),
        },
    )


def cost_of_all(now: Mapping[str, Any]) -> str:
    """What the counted interruptions took, and of how many of them that is known; `now` is a row
    of `window_ends`.
    """
    of_known_gpus, taken = _of_known_gpus(now), now["counted_lost_gpu_seconds"]
    # what an older release published knows no difference
    known = now.get("counted_of_known_cost", of_known_gpus)
    if now["counted"] and not of_known_gpus:
        return "The GPUs of these jobs are unknown, and with them what this took"
    if now["counted"] and not known:
        on_how_many = "" if of_known_gpus == now["counted"] else "on how many GPUs or "
        return f"No source says {on_how_many}what these jobs did, and so what this took"
    told = money.beside(f"{words.hours(taken)} GPU-hours in all", taken)
    if known == now["counted"]:
        return told
    which = "whose GPUs are known" if known == of_known_gpus else "of which that is known"
    return f"{told}, of {words.count(known)} of {_counted(now)} {which}"


def _held_against(now: Mapping[str, Any]) -> str:
    """Interruptions and the GPU-days that the rate holds them against."""
    if now["gpu_seconds"] is None:
        return f"{words.many(now['counted'], 'interruption')} in an unknown number of GPU-days"
    days = f"{words.compact(now['gpu_seconds'] / 86400)} GPU-days"
    if _of_known_gpus(now) == now["counted"]:
        return f"{words.many(now['counted'], 'interruption')} in {days}"
    return f"{_part(now)}, those of known GPUs, in {days}"


def _one_in(now: Mapping[str, Any]) -> str:
    """The GPU-hours between two interruptions of jobs whose GPUs are known."""
    if not now["counted"]:
        return "none in these days"
    between = now["between_interruptions_gpu_seconds"]
    if between is None:
        return f"of attempts; {words.many(now['counted'], 'interruption')}, GPUs unknown"
    told = f"one in {words.hours(between)} GPU-hours"
    return told if _of_known_gpus(now) == now["counted"] else f"{told} of known GPUs"


def _of_known_gpus(now: Mapping[str, Any]) -> int:
    # what an older release published knows no difference
    return int(now.get("counted_of_known_gpus", now["counted"]))


def _part(now: Mapping[str, Any]) -> str:
    return f"{words.count(_of_known_gpus(now))} of {_counted(now)}"


def _counted(now: Mapping[str, Any]) -> str:
    return words.many(now["counted"], "interruption")


def _rate(value: float | None) -> str:
    if value is None or value >= 10_000:  # of few GPU-hours a rate may be anything
        return words.compact(value)
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}"
