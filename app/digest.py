"""What the weekly digest says: the numbers of the Overview for one week, from the same views.

Reads the published warehouse through the pages' door; writes nothing and draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import polars as pl

from app import data, filters, kpis, money, openings, regression_rows, selects, tiles, words

_WEEK: Final = timedelta(days=7)

JOBS: Final = """
select job_id, team, gpus, attempts, lost_gpu_seconds
from window_job_losses($1, $2, $3, $4, 'all')
order by lost_gpu_seconds desc, job_id
limit 10
"""
CAUSES: Final = """
select
    failure_domain,
    failure_category,
    attribution,
    interruptions,
    lost_gpu_seconds,
    count(*) over () as known
from window_causes($1, $2, $3, $4, 'all')
order by lost_gpu_seconds desc, interruptions desc, failure_domain, failure_category
limit 10
"""
REGRESSIONS: Final = """
select
    -- of an older release one is missing
    columns(
        '^(team|metric|verdict|state|observed|expected|change_ratio|lost_gpu_seconds_per_day)$'
    ),
    columns('^(is_gpu_weighed|started_on|ended_on)$')
from regressions
where
    state in ('open', 'incident', 'closed')
    and verdict is distinct from 'mix'  -- it never got worse, also where it is over
    and ($1 = 'fleet' or team in ($1, 'fleet'))  -- what all teams have, each has
    and started_on <= $3
    and coalesce(closed_on, $3) >= $2
order by lost_gpu_seconds_per_day desc nulls last, team, metric
"""
KNOWN_TEAMS: Final = "select distinct team from team_day order by team"


class NoSuchDigest(Exception):
    """Says what is not there, and the nearest thing that is."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number of the week beside that of the week before; null where it is not known."""

    measure: words.Measure
    label: str
    value: float | None
    previous: float | None
    shown: str
    change: str
    note: str
    paid: str = ""  # what it costs, where a price is set; plain text, before the note

    @property
    def verdict(self) -> str:
        """`better`, `worse` or `same`; empty where nothing can be said."""
        if self.value is None or self.previous is None or self.measure.better == "neither":
            return ""
        if not self.change:  # it rests on too few
            return ""
        if words.is_nothing(self.change):
            return "same"
        return (
            "better" if (self.value > self.previous) == (self.measure.better == "up") else "worse"
        )


@dataclass(frozen=True, slots=True)
class Digest:
    """A week of one team, or of the fleet."""

    week: str
    scope: filters.Scope
    window: Mapping[str, Any]  # what the week is of: a row of selects.WINDOW
    published: Mapping[str, Any]
    target: float | None
    numbers: tuple[Number, ...]
    silent: str  # why nothing is told of GPU-hours; empty where something is
    change: float | None  # of ETT, to the week before
    why_unmoved: str  # why there is no change; empty where there is one
    days: pl.DataFrame
    days_before: pl.DataFrame  # moved onto the days of the week
    areas: pl.DataFrame  # as selects.AREAS
    shares: pl.DataFrame  # one row an area, beside the week before
    moves: pl.DataFrame
    teams: pl.DataFrame
    regressions: pl.DataFrame
    regressions_unknown: str  # why, where it is not known what got worse
    jobs: pl.DataFrame
    causes: pl.DataFrame


def week_of(text: str) -> date:
    """The Monday of an ISO week such as `2026-W09`. Raises NoSuchDigest."""
    year, _, number = text.partition("-W")
    try:
        return date.fromisocalendar(int(year), int(number), 1)
    except ValueError:
        raise NoSuchDigest(
            f"{text!r} is no week: write the year and the ISO week, as in 2026-W09."
        ) from None


def named(day: date) -> str:
    """The ISO week of a day, as `2026-W09`."""
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def gather(week: str | None, team: str) -> Digest:
    """Everything that the digest of a week says; without a week, of the last complete one, or of
    the first where none is.

    Raises NoSuchDigest, data.ViewFailed and data.NothingPublished.
    """
    data.pin()
    published = data.row("select * from publication")
    _refuse_unknown(team)
    monday = _monday(week, published)
    scope = _scope(monday, team, published)
    target = data.row(selects.TARGET, team).get("ett_ratio")
    now = openings.window_now(scope)
    before = openings.window_before(scope)
    by_day = (selects.BY_DAY, team, filters.ALL)
    earlier = data.frame(*by_day, *scope.previous[2:], scope.weight, target)
    areas = data.frame(selects.AREAS, *scope.now, scope.weight)
    areas_before = data.frame(selects.AREAS, *scope.previous, scope.weight)
    moves = data.frame(selects.MOVES, *scope.now, scope.weight, *scope.previous[2:])
    if not scope.is_compared:
        earlier = earlier.clear()
    is_compared = scope.is_compared and not kpis.too_few(now, before)
    is_moved = is_compared and now["ett"] is not None and before["ett"] is not None
    unknown = regression_rows.failure() or _unjudged(team)
    return Digest(
        week=named(monday),
        scope=scope,
        window=now,
        published=published,
        target=target,
        numbers=_numbers(scope, now, before, target),
        silent=kpis.not_reported(now, named=str) if now["attempts"] else "",
        change=now["ett"] - before["ett"] if is_moved else None,
        why_unmoved="" if is_moved else _why_unmoved(scope, now, before),
        days=data.frame(*by_day, scope.first_day, scope.last_day, scope.weight, target),
        days_before=earlier.with_columns(pl.col("day") + _WEEK),
        areas=areas,
        shares=kpis.shares(areas, areas_before if is_compared else areas_before.clear()),
        moves=moves if is_moved else moves.clear(),
        teams=_teams(scope, is_compared) if team == filters.FLEET else pl.DataFrame(),
        regressions=(
            pl.DataFrame(schema={"started_on": pl.Date})
            if unknown
            else data.frame(REGRESSIONS, team, scope.first_day, scope.last_day)
        ),
        regressions_unknown=unknown,
        jobs=data.frame(JOBS, *scope.now),
        causes=data.frame(CAUSES, *scope.now),
    )


def _why_unmoved(scope: filters.Scope, now: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Why it is not told what moved ETT."""
    if not now["attempts"]:
        return "no attempt ran in this week"
    silent = kpis.not_reported(now, named=str)
    return (
        f"{silent[:1].lower()}{silent[1:]}"
        or scope.why_not_compared
        or kpis.too_few(now, before)
        or f"no ETT is known of {words.days(*scope.previous[2:])}"
    )


def _unjudged(team: str) -> str:
    """Why it is not known what got worse, where nothing has been judged at all."""
    if regression_rows.is_judged(team):
        return ""
    return "no series has been judged yet. That none is listed does not say that nothing got worse"


def _refuse_unknown(team: str) -> None:
    known = data.frame(KNOWN_TEAMS)["team"].to_list()
    if team != filters.FLEET and team not in known:
        near = ", ".join(repr(each) for each in words.nearest(team, known)) or "--team fleet"
        why = (
            f"nothing is counted of the jobs of team {team!r}: {filters.WHY_NOT_COUNTED}"
            if filters.has_jobs("team", team)
            else f"there is no team {team!r} in this warehouse"
        )
        raise NoSuchDigest(f"{why}. Nearest: {near}.")


def _monday(week: str | None, published: Mapping[str, Any]) -> date:
    newest: date | None = published["newest_day"]
    if newest is None:
        raise NoSuchDigest(filters.why_no_day())
    complete: date = published["last_complete_day"] or newest
    first: date = published["first_day"]
    if week is None:
        sunday = complete - timedelta(days=complete.isoweekday() % 7)
        # where none is complete yet, the first that has data
        return max(sunday - timedelta(days=6), first - timedelta(days=first.weekday()))
    monday = week_of(week)
    if monday > newest or monday + timedelta(days=6) < first:
        near = named(newest if monday > newest else first)
        raise NoSuchDigest(
            f"week {week} is outside the data, which goes from {first} to {newest}. "
            f"Nearest: --week {near}."
        )
    if monday > complete:
        raise NoSuchDigest(
            f"no day of week {week} is complete yet. Nearest: --week {named(complete)}."
        )
    return monday


def _scope(monday: date, team: str, published: Mapping[str, Any]) -> filters.Scope:
    """A week; of one that is not over its complete days, beside the same days a week before."""
    starts, newest = published["first_day"], published["newest_day"]
    complete, sunday = published["last_complete_day"], monday + timedelta(days=6)
    reaches_back = starts <= monday - _WEEK
    return filters.Scope(
        team=team,
        workload=filters.ALL,
        weight=filters.WEIGHTS[0],
        first_day=monday,
        last_day=min(sunday, complete or newest),
        data_starts=starts,
        newest_day=newest,
        is_complete=complete is not None and complete >= sunday,
        is_compared=reaches_back,
        why_not_compared="" if reaches_back else f"the data starts {words.day(starts)}",
        back_days=_WEEK.days,
        zone=published["time_zone"],
    )


def _teams(scope: filters.Scope, is_compared: bool) -> pl.DataFrame:
    now = data.frame(selects.TEAMS, scope.workload, scope.first_day, scope.last_day, scope.weight)
    before = openings.teams_before(scope)
    if not is_compared:
        before = before.clear()
    return now.join(
        before.rename({"ett_ratio": "previous_ett_ratio"}),
        on="team",
        how="left",
        maintain_order="left",
    )


def _numbers(
    scope: filters.Scope, now: Mapping[str, Any], before: Mapping[str, Any], target: float | None
) -> tuple[Number, ...]:
    measures = words.glossary()

    def number(
        key: str,
        label: str,
        column: str,
        show: Callable[[float | None], str],
        difference: Callable[[float], str],
        note: str,
        counted: str,
        paid: str = "",
    ) -> Number:
        """`counted`: the column that tells of how many it is."""
        value, previous = now[column], before.get(column)
        rests_on, rested_on = now[counted] or 0, before.get(counted)
        change = ""
        if value is not None and not tiles.is_enough(rests_on):
            note = f"{note}; n = {rests_on}, too few to compare"
        elif value is not None and previous is not None and not tiles.is_enough(rested_on):
            note = f"{note}; {tiles.few_before(rested_on)}"
        elif value is not None and previous is not None:
            change = difference(value - previous)
        return Number(measures[key], label, value, previous, show(value), change, note, paid)

    silent, untold = (
        kpis.not_reported(now, weight, named=str)
        if now["attempts"]
        else "No attempt ran in this week"
        for weight in filters.WEIGHTS
    )
    budget = data.row(selects.BUDGET, *scope.month, target) if target is not None else {}
    left = budget.get("left_ratio")
    return (
        number(
            "ett_gpu_ratio",
            "ETT",
            "ett",
            words.ratio,
            words.points,
            silent or kpis.against(now["ett"], target),
            "attempts_told",
        ),
        number(
            "lost_gpu_seconds",
            "Lost GPU-hours",
            "lost_amount",
            words.hours,
            words.more_hours,
            silent or kpis.of_all(now["instrumented"], before.get("instrumented"), scope.hours),
            "attempts_told",
            paid="" if silent else money.cost(now["lost_amount"], words.whole),
        ),
        Number(
            measures["loss_budget"],
            "Loss budget left",
            left,
            None,
            words.ratio(left, 0),
            "",
            kpis.why_no_budget(target, silent)
            if left is None
            else f"of the {words.many(budget['days'], 'day')} to {_end(scope)}",
        ),
        *(
            number(
                f"{short}_p50_seconds",
                label,
                f"{short}_p50_seconds",
                words.duration,
                words.more_time,
                f"p50 of {words.count(now[f'{short}_count'])}; "
                f"p90 {words.duration(now[f'{short}_p90_seconds'])}"
                if now[f"{short}_count"]
                else untold or f"no {thing} in this week",
                f"{short}_count",
            )
            for short, label, thing in (
                ("tts", "Time to start", "start"),
                ("ttr", "Time to recover", "recovery"),
            )
        ),
        number(
            "preemption_ratio",
            "Preemption ratio",
            "preemption_ratio",
            words.ratio,
            words.points,
            f"{words.count(now['preempted'])} of {words.count(now['attempts_ended'])} ends",
            "attempts_ended",
        ),
    )


def _end(scope: filters.Scope) -> str:
    """What a budget reaches to: a week that is not over is told to its last complete day."""
    is_over = scope.last_day.isoweekday() == 7
    return "the end of the week" if is_over else words.day(scope.last_day)
