"""The simulator's own account of where every microsecond of an attempt went.

It knows what happened (`History`) and never looks at the events that tell of it. The words and the
order of phases are those of METRICS.md section 2; losses follow the checkpoint that was really
restored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.events import Outcome, Phase
from sample_data.doings import Attempt, History, Saved, Span
from sample_data.lifecycle import TOLD_ONCE, has_loaded, saved

Interval = tuple[int, int]

INTERRUPTIONS = frozenset({Outcome.FAILED, Outcome.PREEMPTED, Outcome.TIMEOUT, "lost"})

_ORDER = (
    Phase.CHECKPOINT_SAVE,
    Phase.EVALUATION,
    Phase.DATA_WAIT,
    Phase.PT2_COMPILE,
    Phase.CHECKPOINT_LOAD,
    Phase.SHUTDOWN,
    Phase.TRAINING,
    Phase.TRAINER_INIT,
    Phase.LAUNCHER_INIT,
    Phase.HARDWARE_SETUP,
    Phase.SCHEDULING,
)
_STARTING = _ORDER[3:5] + _ORDER[7:]
_PLACE = {phase: place for place, phase in enumerate(_ORDER)}
_NOTHING = len(_ORDER)


@dataclass(frozen=True, slots=True)
class Account:
    """One attempt, accounted for.

    `areas` sum to `ended_us - started_us`; all times are microseconds.
    """

    number: int
    started_us: int
    ended_us: int
    outcome: str
    areas: dict[str, int]
    queue_us: int
    recovery_us: int
    first_batch_us: int | None
    tts_us: int | None
    ttr_us: int | None
    ttr_without_queue_us: int | None


@dataclass(frozen=True, slots=True)
class _Charged:
    """An attempt before losses are known; `trained` are the intervals in which it learned."""

    attempt: Attempt
    started_us: int
    seconds: tuple[tuple[Phase | None, int, int], ...]
    hang_us: int
    trained: tuple[Interval, ...]


def accounts(history: History) -> list[Account]:
    """The account of every attempt of a job."""
    slack = history.job.rank_slack_us
    charged: list[_Charged] = []
    for attempt in history.attempts:
        before = charged[-1].attempt if charged else None
        started = before.ends_us if before and attempt.is_in_place else attempt.begins_us
        charged.append(_charged(attempt, started, slack))
    lost_from = _lost_from(charged, slack)
    return [_account(charged, place, lost_from[place], history) for place in range(len(charged))]


def _charged(attempt: Attempt, started: int, slack: int) -> _Charged:
    seconds = _swept(attempt, started, slack)
    training = [(begin, end) for phase, begin, end in seconds if phase is Phase.TRAINING]
    trained = training
    if attempt.stall is not None:
        trained = _without(training, _hang(attempt))
    return _Charged(
        attempt, started, tuple(seconds), _length(training) - _length(trained), tuple(trained)
    )


def _swept(attempt: Attempt, started: int, slack: int) -> list[tuple[Phase | None, int, int]]:
    """The attempt cut into pieces, each with the first phase of the order under way in it."""
    edges = [(started, 0, _NOTHING), (attempt.ends_us, 0, _NOTHING)]
    for span in attempt.spans:
        if span.phase in _PLACE:
            begin, end = _extent(span, attempt, slack)
            edges += [(begin, 1, _PLACE[span.phase]), (end, -1, _PLACE[span.phase])]
    edges.sort()
    under_way = [0] * (_NOTHING + 1)
    pieces: list[tuple[Phase | None, int, int]] = []
    at = started
    for time, change, place in edges:
        if time > at:
            first = next((each for each in range(_NOTHING) if under_way[each]), _NOTHING)
            pieces.append((None if first == _NOTHING else _ORDER[first], at, time))
            at = time
        under_way[place] += change
    return pieces


def _extent(span: Span, attempt: Attempt, slack: int) -> Interval:
    """From the first rank's begin to the last one's end; what never ended lasted to the end."""
    if span.end_us is None:
        return span.begin_us, attempt.ends_us
    return span.begin_us, span.end_us + (0 if span.phase in TOLD_ONCE else slack)


def _hang(attempt: Attempt) -> Interval:
    """A stall is seen from the last progress before it to the first after it, or to the end."""
    assert attempt.stall is not None
    over = attempt.stall.over_us
    seen = next((each.at_us for each in attempt.progress if each.at_us >= over), attempt.ends_us)
    return attempt.stall.since_us, seen


def _without(intervals: Sequence[Interval], hole: Interval) -> list[Interval]:
    pieces = [
        piece
        for begin, end in intervals
        for piece in ((begin, min(end, hole[0])), (max(begin, hole[1]), end))
    ]
    return [(begin, end) for begin, end in pieces if end > begin]


def _length(intervals: Sequence[Interval]) -> int:
    return sum(end - begin for begin, end in intervals)


def _lost_from(charged: Sequence[_Charged], slack: int) -> list[int | None]:
    """For each attempt the moment from which its training was lost; None: nothing was.

    Walks backwards: what a later attempt had to go back to is lost for the earlier ones too.
    """
    first_batch = next((each.trained[0][0] for each in charged if each.trained), None)
    lost: list[int | None] = []
    earliest: int | None = None
    for place in reversed(range(len(charged))):
        attempt = charged[place].attempt
        if attempt.outcome in INTERRUPTIONS:
            back_to = _back_to(charged, place, first_batch, slack)
            earliest = min((each for each in (earliest, back_to) if each is not None), default=None)
        lost.append(earliest)
    return lost[::-1]


def _back_to(
    charged: Sequence[_Charged], place: int, first_batch: int | None, slack: int
) -> int | None:
    """Where the job went on after this interruption: what it restored, or could have restored."""
    if place + 1 < len(charged):
        following = charged[place + 1].attempt
        if following.restored is not None and has_loaded(following):
            return following.restored.captured_us
    durable: list[Saved] = [
        each
        for before in charged[: place + 1]
        for each in saved(before.attempt, slack)
        if each.durable_us <= charged[place].attempt.ends_us
    ]
    return max((each.captured_us for each in durable), default=first_batch)


def _account(
    charged: Sequence[_Charged], place: int, lost_from: int | None, history: History
) -> Account:
    mine = charged[place]
    first_batch = mine.trained[0][0] if mine.trained else None
    ttr, waited = _recovered(charged, place)
    granted = mine.attempt.granted_us
    return Account(
        number=mine.attempt.number,
        started_us=mine.started_us,
        ended_us=mine.attempt.ends_us,
        outcome=mine.attempt.outcome,
        areas=_areas(mine, lost_from),
        queue_us=_queued(charged, place, history),
        recovery_us=_recovery(charged, place, first_batch),
        first_batch_us=first_batch,
        tts_us=(
            first_batch - granted
            if place == 0 and first_batch is not None and granted is not None
            else None
        ),
        ttr_us=ttr,
        ttr_without_queue_us=(
            None if ttr is None else ttr - sum(_queued(charged, each, history) for each in waited)
        ),
    )


def _areas(mine: _Charged, lost_from: int | None) -> dict[str, int]:
    areas: dict[str, int] = {}
    for phase, begin, end in mine.seconds:
        if phase is not Phase.TRAINING:
            area = "unaccounted" if phase is None else str(phase)
            areas[area] = areas.get(area, 0) + end - begin
    unsaved = 0
    if lost_from is not None and mine.attempt.outcome != Outcome.COMPLETED:
        unsaved = sum(max(0, end - max(begin, lost_from)) for begin, end in mine.trained)
    areas["effective"] = _length(mine.trained) - unsaved
    areas["unsaved"] = unsaved
    areas["hang"] = mine.hang_us
    return {area: areas[area] for area in sorted(areas) if areas[area]}


def _queued(charged: Sequence[_Charged], place: int, history: History) -> int:
    mine = charged[place]
    if place > 0:
        return mine.started_us - charged[place - 1].attempt.ends_us
    return sum(
        max(0, min(wait.end_us or mine.started_us, mine.started_us) - wait.begin_us)
        for wait in history.waits
        if wait.number == mine.attempt.number
    )


def _recovery(charged: Sequence[_Charged], place: int, first_batch: int | None) -> int:
    """Start-up seconds of an attempt that only exists because the one before was interrupted."""
    if place == 0:
        return 0
    until = charged[place].attempt.ends_us if first_batch is None else first_batch
    return sum(
        min(end, until) - begin
        for phase, begin, end in charged[place].seconds
        if phase in _STARTING and begin < until
    )


def _recovered(charged: Sequence[_Charged], place: int) -> tuple[int | None, range]:
    """Time since the interruption it recovers from, and the attempts that queued in between."""
    if place == 0 or not charged[place].trained:
        return None, range(0)
    opened = place - 1
    while not charged[opened].trained and opened > 0:
        opened -= 1
    first = charged[opened]
    since = first.trained[-1][1] if first.trained else first.attempt.ends_us
    return charged[place].trained[0][0] - since, range(opened + 1, place + 1)
