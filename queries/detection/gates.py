"""Why a change is not told, or not told any more: gates, each with a name, a value and a limit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from queries.detection import method
from queries.detection.episodes import History, View, least_told, ready_from
from queries.detection.grouping import Change, Group, is_incident


class State(StrEnum):
    """What a regression is now."""

    OPEN = "open"
    CLOSED = "closed"
    HELD_BACK = "held_back"
    INCIDENT = "incident"


class Gate(StrEnum):
    """What can hold a series back; the words of `held_back_by`."""

    NO_DATA = "no_data"
    BASELINE_TOO_SHORT = "baseline_too_short"
    TOO_FEW_ATTEMPTS = "too_few_attempts"
    TOO_FEW_DAYS = "too_few_days"
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence"
    WENT_AWAY = "went_away"
    MIX = "mix"
    FLEET_WIDE = "fleet_wide"
    PART_OF_ANOTHER = "part_of_another"


@dataclass(frozen=True, slots=True)
class Passage:
    """A gate, what was measured at it and what it asks for."""

    gate: Gate
    value: float
    limit: float
    is_passed: bool


def passages(group: Group, *, is_mix: bool) -> list[Passage]:
    """All gates in the order in which they are asked, each passed or not."""
    lead = group.lead
    episode, span = lead.episode, _seen(lead).baseline.span
    speaking = _speaking(group)
    least = float(least_told(speaking.history.panel))
    score = strongest(group)
    lasted = lead.last - episode.onset + 1
    return [
        _at_least(Gate.BASELINE_TOO_SHORT, span[0], method.LEAST_BASELINE_DAYS),
        _at_least(Gate.TOO_FEW_ATTEMPTS, speaking.episode.told, least),
        _at_least(Gate.TOO_FEW_DAYS, _changed_days(speaking), method.LEAST_CHANGED_DAYS),
        _at_least(Gate.NOT_ENOUGH_EVIDENCE, score, 1.0),
        Passage(Gate.WENT_AWAY, lasted, method.INCIDENT_DAYS + 1, not is_incident(group)),
        Passage(Gate.MIX, float(is_mix), 0.0, not is_mix),
        Passage(Gate.FLEET_WIDE, float(group.within is not None), 0.0, group.within is None),
    ]


def decided(group: Group, *, is_mix: bool) -> tuple[State, Gate | None]:
    """What a regression is now, and what holds it back if anything does."""
    episode = group.lead.episode
    if is_mix:
        return (State.HELD_BACK if episode.closed is None else State.CLOSED), Gate.MIX
    if group.within is not None:
        return State.HELD_BACK, Gate.FLEET_WIDE
    if is_incident(group):
        return State.INCIDENT, Gate.WENT_AWAY
    if episode.opened is None:
        failed = (each.gate for each in passages(group, is_mix=False) if not each.is_passed)
        return State.HELD_BACK, next(failed, Gate.NOT_ENOUGH_EVIDENCE)
    return (State.OPEN if episode.closed is None else State.CLOSED), None


def strongest(group: Group) -> float:
    """The highest evidence over its limit that the lead, or what opened it, ever had."""
    lead = group.lead
    return max(
        _score(each)
        for each in (lead, *(group.symptoms if lead.episode.opened is not None else ()))
    )


def quiet(told: History, newest: View, row: int) -> Gate:
    """Why nothing is told of a series that is no part of anything, at its last day."""
    days = np.flatnonzero(told.panel.weight[row] > 0)
    if len(days) == 0 or days[-1] < told.panel.days - method.SILENT_DAYS:
        return Gate.NO_DATA
    if newest.baseline.span[row] < method.LEAST_BASELINE_DAYS:
        return Gate.BASELINE_TOO_SHORT
    if not newest.baseline.is_ready[row]:
        return Gate.TOO_FEW_ATTEMPTS
    return Gate.NOT_ENOUGH_EVIDENCE


def _speaking(group: Group) -> Change:
    """Whose days are enough: the lead's, or those of the series by whose sum it was opened."""
    lead = group.lead
    if lead.episode.opened is None:
        return lead
    beside = [
        each
        for each in group.symptoms
        if each.episode.opened is not None and each.opened <= lead.opened
    ]
    return next((each for each in (lead, *beside) if _is_told(each)), lead)


def _is_told(change: Change) -> bool:
    return (
        change.episode.told >= least_told(change.history.panel)
        and _changed_days(change) >= method.LEAST_CHANGED_DAYS
    )


def _changed_days(change: Change) -> int:
    z = _seen(change).scores.z[0, change.episode.onset : change.last + 1]
    return int((np.nan_to_num(z) > method.CHANGED).sum())


def _seen(change: Change) -> View:
    return change.history.view(change.episode.row, change.episode.found)


def _at_least(gate: Gate, value: float, limit: float) -> Passage:
    return Passage(gate, float(value), float(limit), value >= limit)


def _score(change: Change) -> float:
    """The highest sum over its limit; of what never opened on the days on which it had told enough,
    if there are any.
    """
    history, episode = change.history, change.episode
    first, last = episode.onset, change.opened
    if episode.opened is None:
        ready = ready_from(history.panel, _seen(change), episode, first)
        first, last = (ready, change.last) if ready <= change.last else (first, last)
    days = history.opening[episode.row, first : last + 1]
    return float(np.nanmax(days)) if np.isfinite(days).any() else 0.0
