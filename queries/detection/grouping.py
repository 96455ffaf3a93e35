"""Several series moved by one cause are one regression: which leads, and which follow it.

Goes through the episodes in the order in which they were opened, as the days went by. A team's
change that is the fleet's, and a fleet's that one team carries, are told once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from queries.detection import effects, method
from queries.detection.episodes import Ending, Episode, History, View, least_told
from queries.detection.metrics import Depth, Kind, is_part, metric, related
from queries.detection.series import FLEET

_NEAR_DAYS = 7
_SAME_ONSET_DAYS = 5
_LEAST_EVIDENCE = 3.5
_MOST = 0.5
_CLEAR_LEAD = 2.0
_PATIENCE_DAYS = 6


@dataclass(frozen=True, slots=True)
class Change:
    """An episode with whose it is."""

    team: str
    metric: str
    episode: Episode
    history: History

    @property
    def opened(self) -> int:
        """The day it was told, or would have been."""
        return self.episode.found if self.episode.opened is None else self.episode.opened

    @property
    def last(self) -> int:
        """Its last changed day; of what goes on the newest."""
        last = self.episode.last
        return self.history.panel.days - 1 if last is None else last

    def is_on(self, day: int) -> bool:
        """Whether it lasted until near that day."""
        last = self.episode.last
        return self.episode.onset - _NEAR_DAYS <= day and (last is None or day <= last + _NEAR_DAYS)


@dataclass(slots=True)
class Group:
    """A regression: the change that names it, and those that are it seen elsewhere.

    `within`: the fleet's regression that this one is part of.
    """

    lead: Change
    is_wide: bool = False
    symptoms: list[Change] = field(default_factory=list)
    within: Group | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """What the team of a row adds to a change of the fleet.

    `excess`: observations times log change, or what came on top. `told` and `expected` are, of
    rates, events (overdispersion taken out); of levels, the same by which the change is weighed:
    a sum of mean 0 and variance `expected` by chance.
    """

    row: int
    excess: float
    told: float
    expected: float


def grouped(levels: History, rates: History) -> list[Group]:
    """Every regression, incident and near miss of a fleet, in the order of their opening."""
    groups: list[Group] = []
    changes = (*_changes(levels), *_changes(rates))
    for history in (levels, rates):
        own = [each for each in changes if each.history is history]
        history.look((each.episode.row, each.opened) for each in own)
        history.look((each.episode.row, each.episode.found) for each in own)
    waiting = [(_place_in_line(each), each) for each in changes]
    heapq.heapify(waiting)
    while waiting:
        change = heapq.heappop(waiting)[1]
        later = _place(change, groups, (levels, rates))
        if later is not None:
            heapq.heappush(waiting, (_place_in_line(later), later))
    for wide in [each for each in groups if each.is_wide]:
        _let_go(wide, groups)
    return groups


def mixed(mixes: History) -> list[Group]:
    """Shifts of the mix, one a team: what it does to several measures is one.

    Those that make little difference are left out: classes come and go with every large job.
    """
    groups: list[Group] = []
    for change in _in_order(_changes(mixes)):
        size = effects.effect(mixes, change.metric, change.episode).change
        if abs(size) < method.LEAST_MIX_CHANGE:
            continue
        home = next(
            (
                each
                for each in groups
                if each.lead.team == change.team and each.lead.is_on(change.episode.onset)
            ),
            None,
        )
        if home is None:
            groups.append(Group(change))
        else:
            home.symptoms.append(change)
    return [each for each in groups if each.lead.episode.opened is not None]


def _changes(history: History) -> Iterator[Change]:
    for episode in history.episodes:
        if episode.sign == 1 and not _is_blip(episode, history):
            team, name = history.panel.keys[episode.row]
            yield Change(team, name, episode, history)


def _is_blip(episode: Episode, history: History) -> bool:
    """Suspected, never opened, and gone: too little or too long to be an incident."""
    if episode.opened is not None or episode.last is None:
        return False
    days = episode.last - episode.onset + 1
    is_short = method.LEAST_INCIDENT_DAYS <= days <= method.INCIDENT_DAYS
    return not is_short or episode.told < least_told(history.panel)


def _in_order(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=_place_in_line)


def _place_in_line(change: Change) -> tuple[bool, int, int, float, str, str, int]:
    """Opened ones first, by day; on one day what is nearest to a cause, then the clearest."""
    return (
        change.episode.opened is None,
        change.opened,
        metric(change.metric).depth,
        -evidence(change.history, change.episode, change.opened),
        change.team,
        change.metric,
        change.episode.onset,
    )


def evidence(history: History, episode: Episode, day: int) -> float:
    """How far from chance the days since the onset are, in spreads of their mean."""
    return _evidence(history.view(episode.row, day), episode.onset, day)


def _evidence(seen: View, first: int, last: int) -> float:
    z, precision = seen.between(first, last)
    cut = np.where(np.isnan(z), 0.0, np.clip(z, method.LOWER_CUT, 6.0))
    weight = np.sqrt(precision)
    spread = np.sqrt((weight**2).sum())
    return float((cut * weight).sum() / spread / seen.baseline.stretch[0]) if spread > 0 else 0.0


def _place(
    change: Change, groups: list[Group], histories: tuple[History, History]
) -> Change | None:
    """Find a change its regression, or make it one. Returns it where that is clear later only."""
    home = _home(change, groups)
    if home is not None:
        home.symptoms.append(change)
        return None
    if change.team != FLEET:
        groups.append(_caused(change, histories))
        return None
    carrier, lead = _carrier(change)
    if lead < _CLEAR_LEAD and _can_wait(change):
        return replace(change, episode=replace(change.episode, opened=change.opened + 1))
    if carrier is None:
        cause = _nearest_to_cause(change, histories)
        # it would be an incident or a near miss: of what was told there is none besides
        home = _told_in(cause, groups) if change.episode.opened is None else None
        if home is not None:
            home.symptoms.append(change)
            return None
        carrier = None if cause is change else _only_mover(cause, groups)
        if carrier is None:
            _open_wide(_caused(change, histories), groups)
            return None
    home = _home(carrier, groups)
    if home is None:
        home = _caused(carrier, histories)
        groups.append(home)
    home.symptoms.append(change)
    return None


def _caused(change: Change, histories: tuple[History, History]) -> Group:
    """A regression that is named by the cause of a change, which then shows it elsewhere."""
    cause = _nearest_to_cause(change, histories)
    return Group(cause, symptoms=[] if cause is change else [change])


def _told_in(cause: Change, groups: list[Group]) -> Group | None:
    """The regression that the cause of a change of all is told in already, as one team's."""
    told = (cause.team, cause.metric, cause.episode.onset)
    return next(
        (
            each
            for each in groups
            if any(told == (one.team, one.metric, one.episode.onset) for one in each.symptoms)
        ),
        None,
    )


def _only_mover(cause: Change, groups: list[Group]) -> Change | None:
    """The team that carries what makes up most of a change of all, where none else is told of it.

    All may have moved a little by chance, while the part that moved most is one team's.
    """
    carrier, _ = _carrier(cause)
    told = {each.lead.team for each in _taken_in(cause, groups)}
    return carrier if carrier is not None and told <= {carrier.team} else None


def _can_wait(change: Change) -> bool:
    """Whether another day may tell whose change it is."""
    episode = change.episode
    end = change.history.panel.days if episode.closed is None else episode.closed
    latest = min(episode.found + _PATIENCE_DAYS, end - 1)
    return episode.opened is not None and episode.opened < latest


def _open_wide(wide: Group, groups: list[Group]) -> None:
    """A regression of the fleet takes in what teams were told of it before; a near miss of it only
    their near misses.
    """
    wide.is_wide = True
    for group in _taken_in(wide.lead, groups):
        if wide.lead.episode.opened is not None or group.lead.episode.opened is None:
            group.within = wide
    groups.append(wide)


def _let_go(wide: Group, groups: list[Group]) -> None:
    """What is still worse for a team after all others went back is the team's own."""
    for group in groups:
        if group.within is wide and _outlasts(group.lead, wide.lead):
            group.within = None
    for change in _in_order(wide.symptoms):
        is_same = change.metric == wide.lead.metric or _is_same_phase(change, wide.lead)
        if change.team == FLEET or not is_same or not _outlasts(change, wide.lead):
            continue
        own = [each for each in groups if each.lead.team == change.team and each.within is None]
        home = next((each for each in own if _follows(change, each.lead)), None)
        if home is None:
            groups.append(Group(change))
        else:
            home.symptoms.append(change)


def _outlasts(change: Change, lead: Change) -> bool:
    """Whether it was told, and goes on for over a week after what it is part of was over."""
    own, whole = change.episode, lead.episode
    if own.opened is None or whole.last is None or whole.ending is not Ending.RECOVERED:
        return False
    since = whole.last + 1
    if change.last - whole.last <= _NEAR_DAYS:
        return False
    # it may only not be known yet that it is back
    seen = change.history.view(own.row, own.found)
    return _evidence(seen, since, change.last) >= _LEAST_EVIDENCE


def _taken_in(lead: Change, groups: list[Group]) -> list[Group]:
    """What teams were told of a change of the fleet."""
    return [
        each
        for each in groups
        if each.within is None and each.lead.team != FLEET and _follows(each.lead, lead)
    ]


def _home(change: Change, groups: list[Group]) -> Group | None:
    """The regression that this change is part of: of its team or of the fleet, nearest in time."""
    fitting = [
        each
        for each in groups
        if each.lead.team in (change.team, FLEET)
        and each.within is None
        and _follows(change, each.lead)
    ]
    own = [each for each in groups if each.lead.team == change.team and each.within is not None]
    # a team's regression that became the fleet's still takes in what follows from it
    fitting += [each.within for each in own if each.within and _follows(change, each.lead)]
    return min(
        fitting,
        key=lambda each: abs(each.lead.episode.onset - change.episode.onset),
        default=None,
    )


def _follows(change: Change, lead: Change) -> bool:
    """Whether `change` can be `lead` seen elsewhere: related, and at the same time."""
    one, other = metric(change.metric), metric(lead.metric)
    if not related(one, other):
        return False
    if one.name == other.name or one.depth > Depth.CAUSE or _is_same_phase(change, lead):
        return lead.is_on(change.episode.onset) or lead.is_on(change.opened)
    return abs(change.episode.onset - lead.episode.onset) <= _SAME_ONSET_DAYS


def _is_same_phase(one: Change, other: Change) -> bool:
    phase = metric(one.metric).phase
    return phase is not None and phase == metric(other.metric).phase


def _nearest_to_cause(change: Change, histories: tuple[History, History]) -> Change:
    """The part that makes up most of a change of a sum, if it moved clearly; else the sum."""
    near = [
        each
        for each in _parts(change, histories)
        if abs(each.episode.onset - change.episode.onset) <= _NEAR_DAYS
    ]
    for history in histories:
        history.look((each.episode.row, change.opened) for each in near if each.history is history)
    parts = [
        each
        for each in near
        # of a part that was not told of for long, nothing says what is usual
        if each.history.view(each.episode.row, change.opened).baseline.is_ready[0]
        and evidence(each.history, each.episode, change.opened) >= _LEAST_EVIDENCE
    ]
    if not parts:
        return change
    are_events = all(metric(each.metric).kind is Kind.COUNT for each in parts)
    largest = max(parts, key=lambda each: excess(each, are_events))
    if metric(change.metric).depth is Depth.SUM:
        is_most = excess(largest, are_events) >= _MOST * excess(change, are_events)
        return largest if is_most else change
    return _nearest_to_cause(largest, histories)


def excess(change: Change, in_events: bool) -> float:
    """What came on top up to the opening: events, or else GPU-seconds."""
    panel, row = change.history.panel, change.episode.row
    days = slice(change.episode.onset, change.opened + 1)
    scores = change.history.view(row, change.opened).scores
    weight = panel.weight[row, days]
    expected = np.where(weight > 0, scores.expected[0, days], 0.0)
    value = np.where(weight > 0, panel.value[row, days], 0.0)
    if in_events:
        return float((value - expected).sum())
    if panel.is_rate:
        share = 1 - expected.sum() / max(value.sum(), 1e-12)
    else:
        share = 1 - np.exp(-((value - expected) * weight).sum() / max(weight.sum(), 1e-12))
    return float(share * panel.gpu_seconds[row, days].sum())


def _parts(change: Change, histories: tuple[History, History]) -> Iterator[Change]:
    """Measures of the same team that this one is made of, as they were at its opening."""
    whole = metric(change.metric)
    for history in histories:
        for row, (team, name) in enumerate(history.panel.keys):
            if team == change.team and is_part(metric(name), whole):
                own = _episode_near(history, row, change)
                if own is None:
                    own = history.traced(row, change.opened)
                yield Change(team, name, replace(own, opened=change.episode.opened), history)


def _episode_near(history: History, row: int, change: Change) -> Episode | None:
    """A rise of a series at the same time; what was over before an opening did not lead to it."""
    opened = change.episode.opened
    return next(
        (
            each
            for each in history.of_row(row)
            if each.sign == 1
            and abs(each.onset - change.episode.onset) <= _NEAR_DAYS
            and (opened is None or each.closed is None or each.closed > opened)
        ),
        None,
    )


def _carrier(change: Change) -> tuple[Change | None, float]:
    """The team that carries a change of the fleet, None where it is more likely that all do.

    And how much more likely, as a log of the ratio.
    """
    moved = moves(change, change.opened)
    if not moved:
        return None, np.inf
    is_rate = change.history.panel.is_rate
    best = max(moved, key=lambda each: _likelihood(each.told, each.expected, is_rate))
    alone = _likelihood(best.told, best.expected, is_rate)
    together = _likelihood(
        sum(each.told for each in moved), sum(each.expected for each in moved), is_rate
    )
    if len(moved) > 1 and together > alone:
        return None, together - alone
    if alone <= 0:  # of no team by itself is it more than usual
        return None, np.inf
    team, name = change.history.panel.keys[best.row]
    own = _episode_near(change.history, best.row, change)
    if own is None:
        own = change.history.traced(best.row, change.opened)
    carrier = Change(team, name, replace(own, opened=change.episode.opened), change.history)
    return carrier, np.inf if len(moved) == 1 else alone - together


def moves(change: Change, last: int) -> list[Move]:
    """How much each team with a baseline moved while the fleet did, up to the day `last`."""
    panel, found = change.history.panel, []
    days = slice(change.episode.onset, last + 1)
    rows = [
        row
        for row, (team, name) in enumerate(panel.keys)
        if name == change.metric and team != FLEET and panel.weight[row, days].sum() > 0
    ]
    change.history.look((row, change.opened) for row in rows)
    for row in rows:
        weight = panel.weight[row, days]
        seen = change.history.view(row, change.opened)
        precision = seen.scores.precision[0, days]
        if not seen.baseline.is_ready[0] or precision.sum() <= 0:
            continue
        left = np.where(weight > 0, panel.value[row, days] - seen.scores.expected[0, days], 0.0)
        if panel.is_rate:
            scale = float(seen.baseline.unit[0] * seen.baseline.scale[0] ** 2)
            value = np.where(weight > 0, panel.value[row, days], 0.0)
            found.append(Move(row, float(left.sum()), value.sum() / scale, float(precision.sum())))
        else:
            told = float((left * precision).sum())
            found.append(Move(row, float((left * weight).sum()), told, float(precision.sum())))
    return found


def _likelihood(told: float, expected: float, is_rate: bool) -> float:
    """Log likelihood ratio of the rise that fits best against none."""
    if not is_rate:
        return max(told, 0.0) ** 2 / (2 * expected)
    if told <= expected:
        return 0.0
    return told * float(np.log(told / max(expected, 1e-12))) - (told - expected)


def near_misses(groups: list[Group], histories: tuple[History, History]) -> list[Group]:
    """Series that are suspect on the last day, and are no part of anything told of."""
    found: list[Group] = []
    for history in histories:
        newest = history.panel.days - 1
        ongoing = {each.row for each in history.episodes if each.closed in (None, newest)}
        for row in np.flatnonzero(history.suspicion[:, -1] > 1):
            if int(row) in ongoing:
                continue
            team, name = history.panel.keys[row]
            episode = history.traced(int(row), newest)
            change = Change(team, name, episode, history)
            if team == FLEET:
                change = _carrier(change)[0] or change
            home = _home(change, [*groups, *found])
            if home is None:
                found.append(Group(change))
            else:
                home.symptoms.append(change)
    return found


def is_active(group: Group) -> bool:
    """Whether it is not over; part of the fleet's, it is over with that."""
    whole = group.within or group
    return whole.lead.episode.closed is None


def is_incident(group: Group) -> bool:
    """Went away by itself, before it could be called a state."""
    episode = group.lead.episode
    return (
        episode.last is not None
        and episode.ending is not Ending.NEW_LEVEL
        and episode.last - episode.onset + 1 <= method.INCIDENT_DAYS
    )
