"""From sums to episodes: a change of one series, since when, found when, over when.

Replays the days in order: what a day says depends on the days up to it, never on later ones.
Knows nothing of what other series did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from queries.detection import baseline, cusum, method, thresholds
from queries.detection.baseline import Baseline, Scores
from queries.detection.metrics import metric
from queries.detection.mix import Floats
from queries.detection.series import Panel


class Ending(StrEnum):
    """Why an episode is over."""

    RECOVERED = "recovered"
    NEW_LEVEL = "new_level"
    SILENT = "silent"


# Judged before it is asked what there is to be seen: weeks after the end of an episode are judged
# again without it.
_AHEAD_DAYS = 8 * method.WEEK

# Of a series a week of it, and since when it was off before: what a baseline depends on.
_Known = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Episode:
    """A change of the series `row`, days as numbers from the first of the panel.

    `found`: when it was suspected; `opened`: when there was enough evidence to say so, if ever.
    `last` is the last changed day, `closed` when that was clear. `told`: the observations, or
    events, from the onset to the last day.
    """

    row: int
    sign: int
    onset: int
    found: int
    opened: int | None = None
    told: float = 0.0
    last: int | None = None
    closed: int | None = None
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class View:
    """Series, mostly one, as judged at a day: baselines, and by them the scores of all days."""

    baseline: Baseline
    scores: Scores

    def between(self, first: int, last: int) -> tuple[Floats, Floats]:
        """Of the first series scores and precision of the days first to last, both included."""
        days = slice(first, last + 1)
        return self.scores.z[0, days], self.scores.precision[0, days]

    def of(self, place: int) -> View:
        """One of the series."""
        return View(self.baseline.of(place), self.scores.of(place))


@dataclass(frozen=True, slots=True)
class History:
    """A panel and all its episodes.

    `opening` and `suspicion` are the sums over their limits at each day: above 1 it is a
    regression, or a series to watch.
    """

    panel: Panel
    episodes: tuple[Episode, ...]
    opening: Floats
    suspicion: Floats
    _seen: dict[_Known, View] = field(default_factory=dict, repr=False, compare=False)
    _by_row: dict[int, list[Episode]] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in self.episodes:
            self._by_row.setdefault(each.row, []).append(each)

    def view(self, row: int, day: int) -> View:
        """All days of a series, by the baseline that it had at `day`."""
        self.look([(row, day)])
        return self._seen[self._known(row, day)]

    def look(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Take views of series at days, which are not there yet: many at once in little more time
        than one.
        """
        missing = {self._known(row, day): (row, day) for row, day in wanted}
        missing = {known: each for known, each in missing.items() if known not in self._seen}
        if missing:
            seen = self.views(list(missing.values()))
            self._seen.update((known, seen.of(place)) for place, known in enumerate(missing))

    def views(self, wanted: Sequence[tuple[int, int]]) -> View:
        """The same of several series, each at a day of its own."""
        weights = np.array([self._unmasked(row, day) for row, day in wanted])
        return _view(self.panel, wanted, weights)

    def traced(self, row: int, day: int) -> Episode:
        """The rise of a series that is seen at `day`, whether or not its sums say so."""
        weight = self.panel.weight.copy()
        weight[row] = self._unmasked(row, day)
        panel = replace(self.panel, weight=weight)
        return _traced(panel, row, day, 1, _view(panel, [(row, day)], weight[[row]]))

    def newest(self) -> View:
        """All days of all series, by the baselines of the last day."""
        last = self.panel.days - 1
        weight = self.panel.weight.copy()
        for each in self.episodes:
            if each.closed is not None and each.closed < last:
                weight[each.row, _mask(each)] = 0.0
        return _view(self.panel, [(row, last) for row in range(len(weight))], weight)

    def of_row(self, row: int) -> list[Episode]:
        """The episodes of a series."""
        return self._by_row.get(row, [])

    def usual_from(self, episode: Episode, days: int) -> int:
        """The first of so many days before an episode, after what was worse before and is over."""
        ended = [
            each.onset if each.ending is Ending.NEW_LEVEL else each.last + 1
            for each in self._over(episode.row, episode.found)
            if each.opened is not None and each.last is not None
        ]
        return min(max([0, episode.onset - days, *ended]), episode.onset)

    def _known(self, row: int, day: int) -> _Known:
        over = tuple(each.onset for each in self._over(row, day))
        return row, cusum.week_of(day), over  # a week shares its baseline

    def _unmasked(self, row: int, day: int) -> Floats:
        weight: Floats = self.panel.weight[row].copy()
        for each in self._over(row, day):
            weight[_mask(each)] = 0.0
        return weight

    def _over(self, row: int, day: int) -> list[Episode]:
        """The episodes of a series that were over, and known to be, before a day."""
        return [each for each in self.of_row(row) if each.closed is not None and each.closed < day]


def history(panel: Panel) -> History:
    """Replay every series: judge, open, follow until it is over, and judge on without it."""
    replay = _Replay(panel)
    found: list[Episode] = []
    wanted = dict.fromkeys(range(len(panel.keys)), _AHEAD_DAYS)
    while wanted:
        replay.judge(wanted)
        ahead = {row: _went_on(replay, row, found) for row in wanted}
        wanted = {row: day for row, day in ahead.items() if day is not None}
    return History(panel, _merged(found), replay.opening, replay.suspicion)


def least_told(panel: Panel) -> int:
    """Fewer observations, or events, are nothing to speak of."""
    return method.LEAST_AFTER_EVENTS if panel.is_rate else method.LEAST_AFTER_OBSERVATIONS


def _view(panel: Panel, wanted: Sequence[tuple[int, int]], weight: Floats) -> View:
    """All days of series, each as the baseline of the week of a day, learnt with `weight`, sees
    them.
    """
    rows = [row for row, _ in wanted]
    firsts = np.array([cusum.week_of(day) for _, day in wanted], dtype=np.int64)
    block, told = cusum.padded(panel, rows), cusum.BEFORE_DAYS + panel.days
    usual = np.zeros(block.weight.shape)
    usual[:, cusum.BEFORE_DAYS : told] = weight
    block_of_usual = replace(block, weight=usual)
    places = np.arange(len(rows))
    learnt = baseline.fit(cusum.windows(block_of_usual, places, firsts, method.BASELINE_DAYS))
    judged = baseline.score(learnt, cusum.piece(block, cusum.BEFORE_DAYS, told))
    return View(learnt, judged)


def _traced(panel: Panel, row: int, day: int, sign: int, seen: View) -> Episode:
    """Since when, and until when, a series is off that is off at `day`."""
    from_day = max(day - method.TRAIL_DAYS + 1, 0)
    z, precision = seen.between(from_day, day)
    onset = from_day + cusum.onset(sign * z, precision)
    episode = _followed(Episode(row, sign, onset, day), seen, panel.days)
    last = panel.days - 1 if episode.last is None else episode.last
    return replace(episode, told=float(_told(panel, seen, episode)[last]))


def _told(panel: Panel, seen: View, episode: Episode) -> Floats:
    """Observations, or events, from the onset up to each day."""
    told = panel.weight[episode.row]
    if panel.is_rate:
        told = panel.value[episode.row] * (told > 0) / seen.baseline.unit[0]
    return np.cumsum(np.where(np.arange(panel.days) >= episode.onset, told, 0.0))


class _Replay:
    """Series, each judged up to a day of its own: their sums over their limits, and views of them.

    `since`: the day after what was over last, which is left out of the panel. `until`: the first
    day that is not judged yet. `risen`, `fallen`: the first day since then on which the sums are
    over their limit; the number of days where there is none.
    """

    def __init__(self, panel: Panel) -> None:
        count = len(panel.keys)
        derived = np.array([metric(name).is_derived for _, name in panel.keys], dtype=np.bool_)
        self._margin = np.where(derived, method.DERIVED_MARGIN, 1.0)
        self._block = cusum.padded(panel, slice(None))
        told = slice(cusum.BEFORE_DAYS, cusum.BEFORE_DAYS + panel.days)
        self.panel = replace(panel, weight=self._block.weight[:, told])
        self.since = np.zeros(count, np.int64)
        self.until = np.zeros(count, np.int64)
        self.opening = np.full(panel.value.shape, np.nan)
        self.suspicion = self.opening.copy()
        # a short strong change is watched from the first suspicion on, a weak one is not
        self._rise = self.opening.copy()
        self.fall = self.opening.copy()
        self.risen = np.full(count, panel.days)
        self.fallen = np.full(count, panel.days)
        self._seen: list[dict[int, View]] = [{} for _ in range(count)]

    def judge(self, wanted: Mapping[int, int]) -> None:
        """Judge series on, each up to the end of the week that has the day before its own."""
        weeks = [
            (row, first)
            for row, day in wanted.items()
            for first in range(self.until[row], min(day, self.panel.days), method.WEEK)
        ]
        rows, firsts = np.array(weeks, np.int64).T
        sums = cusum.judged(self._block, rows, firsts)
        limits = thresholds.limits(self.panel.is_rate, sums.volume)
        fast = sums.fast / limits.method_fast
        slow = np.maximum(sums.slow / limits.slow, sums.fast / limits.fast)
        opening = slow / self._margin[rows, None]
        days = firsts[:, None] + np.arange(method.WEEK)
        told = (days >= self.since[rows, None]) & (days < self.panel.days)
        at = np.broadcast_to(rows[:, None], days.shape)[told], days[told]
        self.opening[at] = opening[told]
        self.suspicion[at] = np.maximum(sums.slow / limits.method_slow, fast)[told]
        self._rise[at] = np.maximum(opening, fast)[told]
        self.fall[at] = (sums.fall / limits.slow)[told]
        np.maximum.at(self.until, rows, np.minimum(firsts + method.WEEK, self.panel.days))
        chosen = list(wanted)
        for each, first in ((self._rise, self.risen), (self.fall, self.fallen)):
            over = each[chosen] > 1
            first[chosen] = np.where(over.any(1), over.argmax(1), self.panel.days)
        found = [(row, int(first[row])) for row in chosen for first in (self.risen, self.fallen)]
        self._look([(row, day) for row, day in found if day < self.panel.days])

    def traced(self, row: int, day: int, sign: int) -> tuple[Episode, View]:
        """Since when, and until when, a series is off that is off at `day`; and by which view."""
        self._look([(row, day)])
        seen = self._seen[row][cusum.week_of(day)]
        return _traced(self.panel, row, day, sign, seen), seen

    def leave_out(self, episode: Episode) -> None:
        """Go on after an episode that is over, as if its days had not been told."""
        assert episode.closed is not None
        row, since = episode.row, episode.closed + 1
        self.panel.weight[row, _mask(episode)] = 0.0
        self.since[row], self.until[row] = since, cusum.week_of(since)
        for each in (self._rise, self.fall):
            each[row] = np.nan
        self._seen[row] = {}

    def _look(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Take views of series at days, which are not there yet."""
        weeks = {(row, cusum.week_of(day)) for row, day in wanted}
        missing = sorted(each for each in weeks if each[1] not in self._seen[each[0]])
        if missing:
            seen = _view(self.panel, missing, self.panel.weight[[row for row, _ in missing]])
            for place, (row, week) in enumerate(missing):
                self._seen[row][week] = seen.of(place)


def _went_on(replay: _Replay, row: int, found: list[Episode]) -> int | None:
    """Add the next episode of a series, if it is known; the day before which the series must be
    judged next, if there is one.
    """
    episode = _next(replay, row)
    until, days = int(replay.until[row]), replay.panel.days
    if episode is not None and episode.closed is not None and episode.closed < until:
        found.append(episode)
        replay.leave_out(episode)
        return int(replay.until[row]) + _AHEAD_DAYS if replay.since[row] < days else None
    if until == days:
        if episode is not None:
            found.append(episode)
        return None
    if episode is None:
        return until + _AHEAD_DAYS
    # nothing that is judged after its end can change it
    return days if episode.closed is None else episode.closed + 1


def _next(replay: _Replay, row: int) -> Episode | None:
    """The first rise of a series that is found since what was over last, followed to its end.

    Or a fall that lasted until it was the usual level, where that was so before. Where it ends on a
    day that is not judged yet it may turn out to be another: no sum of such a day is relied on.
    """
    panel = replay.panel
    found = int(replay.risen[row])
    fall = _settled_fall(replay, row)
    if fall is not None and (fall.closed or 0) < found:
        return fall
    if found == panel.days:
        return None
    episode, seen = replay.traced(row, found, 1)
    opened = _first_over(
        replay.opening[row][: episode.closed], ready_from(panel, seen, episode, found)
    )
    surer = episode
    while opened is not None and opened != found:
        # what was only suspected may have been a blip before the change that is told of
        surer, closer = replay.traced(row, opened, 1)
        if surer.onset <= episode.onset:
            return replace(episode, opened=opened)
        if ready_from(panel, closer, surer, opened) == opened:
            break
        opened = _first_over(replay.opening[row][: surer.closed], opened + 1)
    return surer if opened is None else replace(surer, found=found, opened=opened)


def ready_from(panel: Panel, seen: View, episode: Episode, day: int) -> int:
    """The first day from `day` on up to which an episode has told enough to be opened; the number
    of days where there is none.
    """
    is_changed = np.nan_to_num(seen.scores.z[0]) > method.CHANGED
    changed = np.cumsum(is_changed[episode.onset :])[day - episode.onset :]
    told = _told(panel, seen, episode)[day:]
    enough = (changed >= method.LEAST_CHANGED_DAYS) & (told >= least_told(panel))
    return day + int(np.argmax(enough)) if enough.any() else panel.days


def _settled_fall(replay: _Replay, row: int) -> Episode | None:
    """The first fall of a series that lasted; those that went away are nothing."""
    found: int | None = int(replay.fallen[row])
    while found is not None and found < replay.panel.days:
        episode, _ = replay.traced(row, found, -1)
        if episode.closed is None:
            return None
        if episode.ending is Ending.NEW_LEVEL:
            return episode
        found = _first_over(replay.fall[row], episode.closed + 1)
    return None


def _merged(found: list[Episode]) -> tuple[Episode, ...]:
    """One that begins again within a week of its end was never over; it may also be seen to have
    begun before the one that was found first.
    """
    merged: list[Episode] = []
    for each in sorted(found, key=lambda one: (one.row, one.found)):
        last = merged[-1] if merged else None
        if (
            last is not None
            and (last.row, last.sign) == (each.row, each.sign)
            and last.last is not None
            and last.ending is Ending.RECOVERED
            and each.onset - last.last <= method.WEEK
        ):
            opened = each.opened if last.opened is None else last.opened
            merged[-1] = replace(
                each,
                onset=min(last.onset, each.onset),
                found=last.found,
                opened=opened,
                told=last.told + each.told,
            )
        else:
            merged.append(each)
    return tuple(merged)


def _followed(episode: Episode, seen: View, days: int) -> Episode:
    """Its end: back where it was, silent for weeks, or so old that it is what is usual."""
    first = episode.onset
    z = episode.sign * seen.between(first, days - 1)[0]
    told = np.flatnonzero(~np.isnan(z))
    before = z[told[told <= episode.found - first]]
    # a part of a sum may have told nothing on the days on which the sum changed
    size = float(np.clip(before.mean() if len(before) else 1.0, 1.0, 3.0))
    # a better level is the usual one as soon as it can be a baseline
    better = method.LEAST_BASELINE_DAYS + method.LAG_DAYS
    settled = method.NEW_LEVEL_DAYS if episode.sign == 1 else better
    evidence, since, healthy, last_told = 0.0, 0, 0, episode.found
    for place in range(episode.found - first + 1, days - first):
        day = first + place
        if day - first >= settled:
            return replace(episode, last=day, closed=day, ending=Ending.NEW_LEVEL)
        if day - last_told >= method.SILENT_DAYS:
            return replace(episode, last=last_told, closed=day, ending=Ending.SILENT)
        if np.isnan(z[place]):
            continue
        last_told = day
        gain = size * (size / 2 - min(max(z[place], -2.0), size + 2.0)) / seen.baseline.stretch[0]
        if evidence + gain <= 0:
            evidence, healthy = 0.0, 0
            continue
        if evidence == 0:
            since = day
        evidence, healthy = evidence + gain, healthy + 1
        if evidence >= method.RECOVERY_EVIDENCE and healthy >= method.LEAST_RECOVERED_DAYS:
            last = first + int(told[told < since - first].max(initial=0))
            return replace(episode, last=last, closed=day, ending=Ending.RECOVERED)
    return episode


def _mask(episode: Episode) -> slice:
    """The days that later baselines leave out: the changed ones, or all before a new level."""
    if episode.ending is Ending.NEW_LEVEL:
        return slice(0, episode.onset)
    assert episode.last is not None
    return slice(episode.onset, episode.last + 1)


def _first_over(sums: Floats, begins: int) -> int | None:
    over = np.flatnonzero(sums[begins:] > 1)
    return None if len(over) == 0 else begins + int(over[0])
