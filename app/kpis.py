"""The six numbers of the Overview, and the shares that its bars are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl
import streamlit as st

from app import data, filters, money, openings, selects, tiles, words

_OUTSIDE: Final = "uninstrumented"


def row(
    chosen: filters.Scope,
    now: Mapping[str, Any],
    before: Mapping[str, Any],
    target: float | None,
) -> None:
    """Draw the six; `now` and `before` are rows of WINDOW, `before` empty where not compared."""
    measures = words.glossary()
    every = filters.by_day(selects.BY_DAY, chosen, chosen.weight, target)
    days = filters.within(every, *chosen.month[2:])
    silent = not_reported(now, chosen.weight)
    untold = not_reported(now, filters.WEIGHTS[1])  # a wait needs no GPUs
    with st.grid(6, min_column_width=128, gap="small"):
        tiles.kpi(
            measures["ett_gpu_ratio" if chosen.weight == "gpu" else "ett_ratio"],
            now["ett"],
            before.get("ett"),
            label="ETT",
            show=words.ratio,
            difference=words.points,
            rests_on=now["attempts_told"],
            rested_on=before.get("attempts_told"),
            note=silent or against(now["ett"], target),
            series=days["ett_ratio"].to_list(),
        )
        tiles.kpi(
            words.weighed("lost_gpu_seconds", chosen.weight),
            now["lost_amount"] if not silent else None,
            before.get("lost_amount"),
            label=f"Lost {chosen.hours}",
            show=words.hours,
            difference=words.more_hours,
            rests_on=now["attempts_told"],
            rested_on=before.get("attempts_told"),
            note=silent
            or money.beside(
                of_all(now["instrumented"], before.get("instrumented"), chosen.hours),
                now["lost_gpu_seconds"],
                chosen.weight,
            ),
            series=days["lost_amount"].to_list(),
        )
        _budget(chosen, target, days, not_reported(now))
        for short, label, thing in (
            ("tts", "Time to start", "start"),
            ("ttr", "Time to recover", "recovery"),
        ):
            measured = now[f"{short}_count"] or 0
            p90 = words.duration(now[f"{short}_p90_seconds"])
            tiles.kpi(
                measures[f"{short}_p50_seconds"],
                now[f"{short}_p50_seconds"],
                before.get(f"{short}_p50_seconds"),
                label=label,
                show=words.duration,
                difference=words.more_time,
                rests_on=measured or None,
                rested_on=before.get(f"{short}_count"),
                note=f"p50 of {words.count(measured)}; p90 {p90}"
                if measured
                else untold or f"no {thing} in these days",
                series=days[f"{short}_p50_seconds"].to_list(),
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


def not_reported(
    window: Mapping[str, Any],
    weight: str = filters.WEIGHTS[0],
    named: Callable[[str], str] = words.code,
) -> str:
    """Why nothing of ETT can be said of this window so weighed; empty where something can.

    `named` writes the formats that do not report it: as Markdown, unless told otherwise.
    """
    if openings.tells_more_by_wall(window):
        if weight != filters.WEIGHTS[0]:
            return ""
        return f"the GPUs of {openings.of_unknown_gpus(window)} are unknown"
    if window.get("instrumented_ratio"):
        return ""
    if not window.get("wall_seconds"):
        return "No attempt of these days took any time"
    formats = data.frame("select distinct format from sources order by 1").to_series().to_list()
    if len(formats) > 1:  # which of them tell of these jobs is not published, and others may say it
        return "Not reported by the sources of these jobs"
    return f"Not reported by {named(', '.join(map(str, formats)))} dumps"


def of_all(whole: float | None, before: float | None, unit: str) -> str:
    """`of 818k GPU-hours, 932k before`: a loss may shrink with them while its share grows."""
    then = "" if before is None else f", {words.hours(before)} before"
    return f"of {words.hours(whole)} {unit}{then}"


def team(
    row: Mapping[str, Any],
    before: float | None,
    chosen: filters.Scope,
    silent: str,
    *,
    of_few: bool = False,
) -> str:
    """`88.1 % -2.3 pp, 1.2k GPU-hours lost`: a row of TEAMS beside its ETT of before.

    `of_few`: now or before its attempts are too few to be compared.
    """
    if not row["wall_seconds"]:
        return "no attempt took any time"
    if row["ett_ratio"] is None:
        return silent or "uninstrumented, or its GPUs are unknown"
    change = "(too few to compare)" if of_few else words.change(row["ett_ratio"], before)
    return (
        f"{words.ratio(row['ett_ratio'])} {change}".rstrip() + " \u00b7 "
        f"{words.hours(row['lost_amount'])} {chosen.hours} lost"
    )


def against(ratio: float | None, target: float | None) -> str:
    """A ratio beside its target, in words."""
    if target is None:
        return "no target is set"
    if ratio is None:
        return f"target {words.target(target)}"
    distance = words.points(abs(ratio - target)).lstrip("+")
    far = f"{distance} {'above' if ratio >= target else 'short'}"
    if ratio < target and distance == words.points(0.0):
        far = "less than 0.1 pp short"
    return f"target {words.target(target)}, {far}"


def shares(areas: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """One row an area: amount, share_ratio, previous_share_ratio and difference_ratio.

    An area that one of the windows lacks has share 0 there, so that the differences add up. There
    are none where one of them has no share at all: nothing ran, or nothing of it is instrumented.
    Uninstrumented time has no share, ETT does not speak of it.
    """
    is_compared = all(frame["share_ratio"].count() for frame in (areas, earlier))
    earlier = earlier if is_compared else earlier.clear()
    now, before = (
        frame.group_by("area").agg(pl.col("amount", "share_ratio").sum())
        for frame in (areas, earlier)
    )
    joined = now.join(
        before.select("area", previous_share_ratio="share_ratio"),
        on="area",
        how="full",
        coalesce=True,
    ).with_columns(pl.col("amount").fill_null(0), _share("share_ratio"))
    if earlier.is_empty():
        return joined.with_columns(difference_ratio=pl.lit(None, pl.Float64)).sort("area")
    return (
        joined.with_columns(_share("previous_share_ratio"))
        .with_columns(difference_ratio=pl.col("share_ratio") - pl.col("previous_share_ratio"))
        .sort("area")
    )


def _share(name: str) -> pl.Expr:
    return pl.when(pl.col("area") != _OUTSIDE).then(pl.col(name).fill_null(0)).alias(name)


def largest_loss(by_area: pl.DataFrame) -> str | None:
    """The area that took most of what was lost; rows of `shares`."""
    lost = by_area.filter(pl.col("area").is_in(filters.LOST_AREAS) & (pl.col("amount") > 0))
    return None if lost.is_empty() else str(lost.sort("amount", descending=True)["area"][0])


def labelled(areas: pl.DataFrame, by_area: pl.DataFrame) -> pl.DataFrame:
    """The areas with the texts that the cascade draws: `31.2k  3.1 %  +0.6 pp`."""
    labels = {entry["area"]: _label(entry) for entry in by_area.iter_rows(named=True)}
    return areas.with_columns(
        text=pl.Series([words.hours(amount) for amount in areas["amount"]], dtype=pl.String),
        label=pl.Series([labels[area] for area in areas["area"]], dtype=pl.String),
    )


def told(by_area: pl.DataFrame) -> list[tuple[str, str]]:
    """Areas with their amount and share in words, the largest first; rows of `shares`."""
    ranked = by_area.sort("amount", descending=True).select("area", "amount", "share_ratio")
    return [
        (
            words.area(area),
            f"{words.hours(amount)} ({'outside ETT' if share is None else words.ratio(share)})",
        )
        for area, amount, share in ranked.rows()
    ]


def too_few(now: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Why ETT of these two windows is not compared, where it is known of both, and one of them has
    too few attempts; both as in `Opened`.
    """
    if now["ett"] is None or before.get("ett") is None:
        return ""
    for window, when in ((now, "in these days"), (before, "in the days before")):
        if not tiles.is_enough(window["attempts_told"]):
            return f"ETT is known of only {words.many(window['attempts_told'], 'attempt')} {when}"
    return ""


def moves_told(moves: pl.DataFrame) -> list[tuple[str, str]]:
    """Parts of a change with their points; rows of selects.MOVES."""
    return [(words.area(area), words.points(moved, 2)) for area, moved in moves.rows()]


def _label(entry: Mapping[str, Any]) -> str:
    amount = f"<b>{words.hours(entry['amount'])}</b>"
    if entry["area"] == _OUTSIDE:
        return f"{amount}  outside ETT"
    difference = entry["difference_ratio"]
    change = "" if difference is None else f"  {words.points(difference)}"
    return f"{amount}  {words.ratio(entry['share_ratio'])}{change}"


def _budget(chosen: filters.Scope, target: float | None, days: pl.DataFrame, silent: str) -> None:
    budget = data.row(selects.BUDGET, *chosen.month, target) if target is not None else {}
    earlier = (
        data.row(selects.BUDGET, *chosen.month_before, target)
        if budget and chosen.is_compared and chosen.data_starts <= chosen.month_before[2]
        else {}
    )
    left, was_left = budget.get("left_ratio"), earlier.get("left_ratio")
    # whatever days are chosen, and whichever the line above the numbers compares them with
    is_of_others = chosen.month != chosen.now and None not in (left, was_left)
    tiles.kpi(
        words.glossary()["loss_budget"],
        left,
        was_left,
        show=lambda value: words.ratio(value, 0),
        difference=lambda change: words.points(change, 0),
        rests_on=None,
        rested_on=None,
        note=_budget_told(budget, target, silent)
        + ("; compared with the 28 days before" if is_of_others else ""),
        series=days["left_gpu_seconds"].to_list(),
        bars=True,
        tell=words.hours,
    )


def why_no_budget(target: float | None, silent: str) -> str:
    """Why no loss budget is told. `silent`: why nothing can be said of the chosen days."""
    if target is None:
        return "no target is set"
    if target == 1:
        return f"target {words.target(target)}: it leaves nothing to lose"
    return silent or "nothing of 28 days is instrumented, or its GPUs are unknown"


def _budget_told(budget: Mapping[str, Any], target: float | None, silent: str) -> str:
    """What is left of a row of BUDGET, in GPU-hours and days, or why that cannot be said.

    Whatever days are chosen, a budget is of a month: `silent`, why nothing can be said of the
    chosen days, is no word against what is known of the month.
    """
    left, hours = budget.get("left_ratio"), budget.get("left_gpu_seconds")
    if left is None or hours is None:
        return why_no_budget(target, silent)
    of_days = f"of {words.many(budget['days'], 'day')}: "
    if left < 0:
        return of_days + money.beside(f"overspent by {words.hours(-hours)} GPU-hours", -hours)
    rate = budget["left_days"]
    for_days = words.compact(rate)
    if left and words.is_nothing(for_days):
        for_days = "under 0.1"
    at_rate = "" if rate is None else f", {for_days} days at this rate"
    return f"{of_days}{words.hours(hours)} GPU-hours{at_rate}"
