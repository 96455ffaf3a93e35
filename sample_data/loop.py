"""The train loop: training between saves, evaluations, waits, recompiles and stalls. Never cuts."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import IntEnum

from ingest.events import Phase
from sample_data.doings import Progress, Saved, Span, Stall
from sample_data.jobs import Job
from sample_data.planted import Effects, Kind
from sample_data.times import HOUR, MINUTE, SECOND, of_seconds

# Progress events before a stall: the definition needs ten gaps to see one.
_SIGHTINGS_BEFORE_STALL = 13

# A stall lasts this many rhythms of progress: far beyond the ten of the definition.
_STALL_RHYTHMS = (14.0, 24.0)


class _Turn(IntEnum):
    """What interrupts training, in the order in which things of one moment are done."""

    PROGRESS = 0
    SAVE = 1
    EVALUATE = 2
    WAIT = 3
    RECOMPILE = 4
    STALL = 5


@dataclass(frozen=True, slots=True)
class Loop:
    """The train loop as it would go: `spans` without the training span itself."""

    spans: tuple[Span, ...]
    progress: tuple[Progress, ...]
    stall: Stall | None
    ends_us: int


@dataclass(frozen=True, slots=True)
class _Stalling:
    trained_us: int
    lasts_us: int
    is_fatal: bool


def train(
    job: Job,
    begins_us: int,
    restored: Saved | None,
    may_stall_until_us: int,
    effects: Effects,
    rng: random.Random,
) -> Loop:
    """Train from the restored checkpoint to the end of the job's work, or to a fatal stall.

    Time has two clocks here: `trained` counts training only, `now` everything.
    """
    before = restored.trained_us if restored else 0
    work = max(MINUTE, job.work_us - before)
    spans: list[Span] = []
    progress: list[Progress] = []
    stall: Stall | None = None
    planned = _stall(job, work, rng)
    now, done = begins_us, 0
    for trained, turn in _turns(job, work, planned, rng):
        now, done = now + trained - done, trained
        step = (before + trained) // job.step_us
        if turn is _Turn.PROGRESS:
            progress.append(Progress(now, step))
        elif turn is not _Turn.STALL:
            blocked = _blocked(job, turn, now, step, before + trained, effects, rng)
            spans += blocked
            now = blocked[0].end_us or now
        elif planned and now + planned.lasts_us < may_stall_until_us:
            stall = Stall(progress[-1].at_us, now + planned.lasts_us, planned.is_fatal)
            now = stall.over_us
            if stall.is_fatal:
                break
    ends = now if stall and stall.is_fatal else now + work - done
    return Loop(tuple(spans), tuple(progress), stall, ends)


def _turns(
    job: Job, work: int, stall: _Stalling | None, rng: random.Random
) -> list[tuple[int, _Turn]]:
    """When, in microseconds of training, what interrupts it; sync savers also save at the end."""
    turns = [(at, _Turn.SAVE) for at in range(job.save_every_us, work, job.save_every_us)]
    if job.progress_every_us:
        turns += [(at, _Turn.PROGRESS) for at in _rhythm(job.progress_every_us, work, rng)]
    if job.team.evaluates_every_s:
        every = of_seconds(job.team.evaluates_every_s)
        turns += [(at, _Turn.EVALUATE) for at in range(every, work, every)]
    turns += [(at, _Turn.WAIT) for at in _now_and_then(2 * HOUR, work, rng)]
    if job.recompiles:
        turns += [(at, _Turn.RECOMPILE) for at in _now_and_then(6 * HOUR, work, rng)]
    if stall is not None:
        turns.append((stall.trained_us, _Turn.STALL))
    if job.team.save_mode == "sync":
        turns.append((work, _Turn.SAVE))
    return sorted(turns)


def _rhythm(every: int, work: int, rng: random.Random) -> list[int]:
    """Regular to a few percent: no ordinary gap is ever near ten times the median."""
    return [
        at + of_seconds(rng.uniform(-0.04, 0.04) * every / SECOND)
        for at in range(every, work - every // 10, every)
    ]


def _now_and_then(mean: int, work: int, rng: random.Random) -> list[int]:
    times, at = [], of_seconds(rng.expovariate(1.0) * mean / SECOND)
    while at < work:
        times.append(at)
        at += MINUTE + of_seconds(rng.expovariate(1.0) * mean / SECOND)
    return times


def _stall(job: Job, work: int, rng: random.Random) -> _Stalling | None:
    """Where a watched job stalls, always between two progress events; None: it does not."""
    every = job.progress_every_us
    if not job.is_watched or not every or rng.random() >= 0.45:
        return None
    sightings = work // every - 2
    if sightings <= _SIGHTINGS_BEFORE_STALL:
        return None
    at = rng.randrange(_SIGHTINGS_BEFORE_STALL, sightings) * every + every // 2
    lasts = of_seconds(rng.uniform(*_STALL_RHYTHMS) * every / SECOND)
    return _Stalling(at // 1000 * 1000, lasts, rng.random() < 0.6)


def _blocked(
    job: Job,
    turn: _Turn,
    now: int,
    step: int,
    trained: int,
    effects: Effects,
    rng: random.Random,
) -> list[Span]:
    """The span that blocks training now; behind an async save also its upload."""
    if turn is _Turn.SAVE:
        return _save(job, now, step, trained, effects, rng)
    if turn is _Turn.EVALUATE:
        return [Span(Phase.EVALUATION, now, now + of_seconds(170 * rng.lognormvariate(0, 0.3)))]
    if turn is _Turn.WAIT:
        return [Span(Phase.DATA_WAIT, now, now + of_seconds(70 * rng.lognormvariate(0, 0.8)))]
    lasts = of_seconds(40 * rng.lognormvariate(0, 0.3))
    return [Span(Phase.PT2_COMPILE, now, now + lasts, recompiles=rng.randint(1, 3))]


def _save(
    job: Job, now: int, step: int, trained: int, effects: Effects, rng: random.Random
) -> list[Span]:
    slowed = effects.factor(Kind.SLOWER_SAVES, job.team.name, now)
    size = 0.8 + job.gpus / 1280
    end = now + of_seconds(job.team.save_blocks_s * slowed * size * rng.lognormvariate(0, 0.2))
    is_ok = rng.random() >= 0.006
    mode = job.team.save_mode
    save = Span(
        Phase.CHECKPOINT_SAVE, now, end, step=step, mode=mode, is_ok=is_ok, trained_us=trained
    )
    if mode != "async" or not is_ok:
        return [save]
    lasts = of_seconds(min(600.0, max(60.0, job.team.upload_s * rng.lognormvariate(0, 0.35))))
    return [
        save,
        Span(Phase.CHECKPOINT_UPLOAD, end, end + lasts, step=step, is_ok=rng.random() >= 0.01),
    ]
