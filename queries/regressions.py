"""What got worse: the detector over all series of a fleet.

What it finds is a function of the facts, never accumulated, so that late data, a repeated ingest
and a rebuild give the same list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl

from queries.detection import cost, effects, gates, grouping, method, series
from queries.detection.episodes import History, history
from queries.detection.gates import Gate, State
from queries.detection.grouping import Change, Group
from queries.detection.metrics import metric
from queries.detection.series import FLEET, Panels

# Longer without any data, and nothing before can be a baseline of anything after.
_GAP_DAYS = method.BASELINE_DAYS + method.LAG_DAYS
_POINT_DAYS = 60
_POINT_DAYS_BEFORE = 45
_OTHER_TEAMS = 11
_HOUR = 3600.0

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Settings:
    """What an installation decides: the SLA, and from how many GPU-hours a day on it matters."""

    sla_days: int = 14
    page_gpu_hours: float = 200.0
    ticket_gpu_hours: float = 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """Tables of what was found; each but `quiet` is keyed by team, metric, started_on.

    `regressions`: see docs/detection.md. `gates`: each gate with its value. `symptoms`: what else
    moved. `points`: days around it, `series_team` being the team itself or another beside it.
    `teams`: how much each team adds to a change of the fleet. `quiet`: of every series why nothing
    is told of it, the smallest change that it could have shown, and since when it was judged.
    """

    regressions: pl.DataFrame
    gates: pl.DataFrame
    symptoms: pl.DataFrame
    points: pl.DataFrame
    teams: pl.DataFrame
    quiet: pl.DataFrame


_KEY = {"team": pl.String, "metric": pl.String, "started_on": pl.Date}
SCHEMAS: dict[str, dict[str, type[pl.DataType]]] = {
    "regressions": {
        **_KEY,
        "state": pl.String,
        "severity": pl.String,
        "held_back_by": pl.String,
        "verdict": pl.String,
        "failure_domain": pl.String,
        "phase": pl.String,
        "stage": pl.String,
        "detected_on": pl.Date,
        "ended_on": pl.Date,
        "closed_on": pl.Date,
        "closed_because": pl.String,
        "before_from": pl.Date,
        "after_to": pl.Date,
        "observed": pl.Float64,
        "expected": pl.Float64,
        "change_ratio": pl.Float64,
        "lost_gpu_seconds_per_day": pl.Float64,
        "is_gpu_weighed": pl.Boolean,
        "attempts_before": pl.Int64,
        "attempts_after": pl.Int64,
        "evidence_ratio": pl.Float64,
        "smallest_change_ratio": pl.Float64,
        "days_to_detect": pl.Int64,
        "sla_days": pl.Int64,
        "is_within_sla": pl.Boolean,
        "was_open": pl.Boolean,
    },
    "gates": {
        **_KEY,
        "place": pl.Int64,
        "gate": pl.String,
        "value": pl.Float64,
        "limit_value": pl.Float64,
        "is_passed": pl.Boolean,
    },
    "symptoms": {
        **_KEY,
        "symptom_team": pl.String,
        "symptom_metric": pl.String,
        "symptom_started_on": pl.Date,
        "observed": pl.Float64,
        "expected": pl.Float64,
        "change_ratio": pl.Float64,
    },
    "points": {
        **_KEY,
        "series_team": pl.String,
        "day": pl.Date,
        "attempts": pl.Int64,
        "observed": pl.Float64,
        "expected": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    },
    "teams": {
        **_KEY,
        "series_team": pl.String,
        "share": pl.Float64,
        "change_ratio": pl.Float64,
    },
    "quiet": {
        "team": pl.String,
        "metric": pl.String,
        "held_back_by": pl.String,
        "evidence_ratio": pl.Float64,
        "baseline_days": pl.Int64,
        "baseline_observations": pl.Float64,
        "smallest_change_ratio": pl.Float64,
        "judged_from": pl.Date,
    },
}


def detect(cells: pl.DataFrame, through: date, settings: Settings) -> Found:
    """Find what got worse in a frame of `series.COLUMNS`, as it was known after the day `through`.

    Later days are not looked at.
    """
    told = cells.filter(pl.col("day") <= through)
    empty = {name: pl.DataFrame(schema=schema) for name, schema in SCHEMAS.items()}
    found = {name: [frame] for name, frame in empty.items()}
    pieces = list(_pieces(told, through))
    for place, (piece, until) in enumerate(pieces):
        for name, frame in _of_piece(piece, until, settings).items():
            if name != "quiet" or place == len(pieces) - 1:
                found[name].append(frame)
    return Found(**{name: pl.concat(frames) for name, frames in found.items()})


def _pieces(cells: pl.DataFrame, through: date) -> Iterator[tuple[pl.DataFrame, date]]:
    """The history, parted where nothing was told for so long that nothing leads across."""
    days = cells["day"].unique().sort().to_list()
    if not days:
        return
    begins = [days[0]]
    begins += [day for last, day in pairwise(days) if (day - last).days > _GAP_DAYS]
    for first, following in zip(begins, [*begins[1:], None], strict=True):
        if following is None:
            yield cells.filter(pl.col("day") >= first), through
        else:
            piece = cells.filter(pl.col("day").is_between(first, following, closed="left"))
            newest = max(day for day in days if day < following)
            yield piece, newest + timedelta(days=method.SILENT_DAYS + 1)


def _of_piece(cells: pl.DataFrame, until: date, settings: Settings) -> dict[str, pl.DataFrame]:
    panels = series.panels(cells, until)
    levels, rates = history(panels.levels), history(panels.rates)
    groups = grouping.grouped(levels, rates)
    groups += grouping.near_misses(groups, (levels, rates))
    shifts = grouping.mixed(history(panels.mixes))
    rows: dict[str, list[Row]] = {name: [] for name in SCHEMAS if name != "points"}
    points: dict[str, list[object]] = {name: [] for name in SCHEMAS["points"]}
    taken: set[tuple[object, ...]] = set()
    for group, is_mix in [*((each, False) for each in groups), *((each, True) for each in shifts)]:
        # part of what the fleet was told of: over with that, it is no row of its own
        if group.within is not None and not grouping.is_active(group):
            continue
        key = _key(group.lead, panels)
        if tuple(key.values()) in taken:
            continue
        taken.add(tuple(key.values()))
        rows["regressions"].append(key | _regression(group, panels, settings, is_mix=is_mix))
        rows["gates"] += [key | each for each in _gates(group, is_mix=is_mix)]
        rows["symptoms"] += [key | each for each in _symptoms(group, groups, panels)]
        for name, values in _points(key, group.lead, panels):
            points[name] += values
        rows["teams"] += [key | each for each in _teams(group.lead)]
    rows["quiet"] = list(_quiet((levels, rates), groups))
    found = {name: pl.DataFrame(told, SCHEMAS[name]) for name, told in rows.items()}
    return found | {"points": pl.DataFrame(points, SCHEMAS["points"])}


def _key(change: Change, panels: Panels) -> Row:
    return {
        "team": change.team,
        "metric": change.metric,
        "started_on": _day(panels, change.episode.onset),
    }


def _regression(group: Group, panels: Panels, settings: Settings, *, is_mix: bool) -> Row:
    lead = group.lead
    episode, known = lead.episode, metric(lead.metric)
    state, held_back_by = gates.decided(group, is_mix=is_mix)
    size = effects.effect(lead.history, lead.metric, episode)
    lost = cost.lost_gpu_seconds_per_day(lead.history, episode)
    # of what never opened nobody was told, though it is seen to have come and gone
    is_found = episode.opened is not None and (
        state is not State.HELD_BACK or held_back_by is Gate.FLEET_WIDE
    )
    days = lead.opened - episode.onset if is_found else None
    return {
        "state": state.value,
        "severity": _severity(lost, settings, is_mix=is_mix),
        "held_back_by": None if held_back_by is None else held_back_by.value,
        "verdict": _verdict(group, is_mix=is_mix),
        "failure_domain": known.failure_domain,
        "phase": known.phase,
        "stage": known.stage,
        "detected_on": _day(panels, lead.opened) if is_found else None,
        "ended_on": None if episode.last is None else _day(panels, episode.last),
        "closed_on": None if episode.closed is None else _day(panels, episode.closed),
        "closed_because": None if episode.ending is None else episode.ending.value,
        "before_from": _day(panels, effects.before_days(lead.history, episode).start),
        "after_to": _day(panels, lead.last),
        "observed": size.observed,
        "expected": size.expected,
        "change_ratio": size.change,
        "lost_gpu_seconds_per_day": lost,
        "is_gpu_weighed": True,  # until the cells say otherwise
        "attempts_before": round(size.told_before),
        "attempts_after": round(size.told_after),
        "evidence_ratio": gates.strongest(group),
        "smallest_change_ratio": effects.smallest_before(lead.history, episode),
        "days_to_detect": days,
        "sla_days": settings.sla_days,
        "is_within_sla": None if days is None else days <= settings.sla_days,
        "was_open": episode.opened is not None and not is_mix,
    }


def _severity(lost_gpu_seconds: float, settings: Settings, *, is_mix: bool) -> str:
    hours = lost_gpu_seconds / _HOUR
    if is_mix or hours < settings.ticket_gpu_hours:
        return "info"
    return "page" if hours >= settings.page_gpu_hours else "ticket"


def _verdict(group: Group, *, is_mix: bool) -> str:
    if is_mix:
        return "mix"
    verdict = metric(group.lead.metric).verdict
    return "fleet_wide" if group.is_wide and verdict == "slower" else verdict


def _gates(group: Group, *, is_mix: bool) -> Iterator[Row]:
    for place, each in enumerate(gates.passages(group, is_mix=is_mix), 1):
        yield {
            "place": place,
            "gate": each.gate.value,
            "value": each.value,
            "limit_value": each.limit,
            "is_passed": each.is_passed,
        }


def _symptoms(group: Group, groups: Iterable[Group], panels: Panels) -> Iterator[Row]:
    inside = [each for each in groups if each.within is group]
    found = [*group.symptoms, *(each.lead for each in inside)]
    found += [symptom for each in inside for symptom in each.symptoms]
    told = {(group.lead.team, group.lead.metric)}
    for change in sorted(found, key=lambda each: (each.episode.onset, each.team, each.metric)):
        if (change.team, change.metric) in told:
            continue
        told.add((change.team, change.metric))
        size = effects.effect(change.history, change.metric, change.episode)
        yield {
            "symptom_team": change.team,
            "symptom_metric": change.metric,
            "symptom_started_on": _day(panels, change.episode.onset),
            "observed": size.observed,
            "expected": size.expected,
            "change_ratio": size.change,
        }


def _points(key: Row, lead: Change, panels: Panels) -> Iterator[tuple[str, list[object]]]:
    """Columns by name, of one series after the other: there are too many points for rows."""
    panel, found = lead.history.panel, lead.episode.found
    first = max(0, min(lead.episode.onset - _POINT_DAYS_BEFORE, panel.days - _POINT_DAYS))
    # that it goes on, or is over, is seen
    until = max(first + _POINT_DAYS, lead.last + 1 + method.WEEK)
    days = slice(first, min(until, panel.days))
    dates = np.array([_day(panels, number) for number in range(days.start, days.stop)])
    beside = list(_beside(lead))
    drawn = effects.points(lead.history, lead.metric, [row for _, row in beside], found, days)
    for (team, _), told in zip(beside, drawn, strict=True):
        places = np.flatnonzero(told.told > 0)
        yield from ((name, [value] * len(places)) for name, value in key.items())
        yield "series_team", [team] * len(places)
        yield "day", dates[places].tolist()
        yield "attempts", np.rint(told.told[places]).astype(np.int64).tolist()
        for name in ("observed", "expected", "low", "high"):
            yield name, getattr(told, name)[places].tolist()


def _beside(lead: Change) -> Iterator[tuple[str, int]]:
    """The series itself, then the same measure of the teams that ran most."""
    panel = lead.history.panel
    yield lead.team, lead.episode.row
    others = [
        (-float(panel.told_rows[row].sum()), team, row)
        for row, (team, name) in enumerate(panel.keys)
        if name == lead.metric and team not in (lead.team, FLEET)
    ]
    for _, team, row in sorted(others)[:_OTHER_TEAMS]:
        yield team, row


def _teams(lead: Change) -> Iterator[Row]:
    if lead.team != FLEET:
        return
    panel = lead.history.panel
    moved = grouping.moves(lead, lead.last)  # what came after the opening is its too
    whole = sum(each.excess for each in moved)
    for each in moved:
        episode = replace(lead.episode, row=each.row)
        yield {
            "series_team": panel.keys[each.row][0],
            "share": each.excess / whole if whole else None,
            "change_ratio": effects.effect(lead.history, lead.metric, episode).change,
        }


def _quiet(histories: tuple[History, History], groups: list[Group]) -> Iterator[Row]:
    active = [each for each in groups if grouping.is_active(each)]
    leads = {(each.lead.team, each.lead.metric) for each in active if each.within is None}
    parts = {
        (change.team, change.metric) for each in active for change in (each.lead, *each.symptoms)
    }
    for told in histories:
        newest, smallest = told.newest(), effects.smallest(told)
        for row, key in enumerate(told.panel.keys):
            if key in leads:
                continue
            why = Gate.PART_OF_ANOTHER if key in parts else gates.quiet(told, newest, row)
            yield {
                "team": key[0],
                "metric": key[1],
                "held_back_by": why.value,
                "evidence_ratio": told.opening[row, -1],
                "baseline_days": int(newest.baseline.span[row]),
                "baseline_observations": newest.baseline.observations[row],
                "smallest_change_ratio": smallest[row],
                "judged_from": _judged_from(told, row),
            }


def _judged_from(told: History, row: int) -> date | None:
    """The first day with a value and a baseline to hold it against; None: there was none yet."""
    days = np.flatnonzero((told.panel.weight[row] > 0) & np.isfinite(told.opening[row]))
    return series.day_of(told.panel.begins, int(days[0])) if len(days) else None


def _day(panels: Panels, number: int) -> date:
    return series.day_of(panels.levels.begins, number)


__all__ = ["SCHEMAS", "Found", "Gate", "Settings", "State", "detect"]
