"""One attempt: what it would do undisturbed (`plan`), and what it did in the end (`close`)."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from ingest.events import Outcome, Phase
from sample_data.doings import Attempt, Fate, Plan, Saved, Span
from sample_data.jobs import Job
from sample_data.loop import train
from sample_data.planted import Effects
from sample_data.startup import start_up
from sample_data.times import HOUR, SECOND, of_seconds

# Told once, by the launcher or the scheduler; other phases are told by every reporting rank.
TOLD_ONCE = frozenset({Phase.QUEUE, Phase.SCHEDULING, Phase.CHECKPOINT_UPLOAD, Phase.SHUTDOWN})

ALIVE_EVERY_US = HOUR


@dataclass(frozen=True, slots=True)
class Try:
    """What identifies an attempt before it begins."""

    job: Job
    number: int
    allocation: str
    skew_us: int
    is_in_place: bool


def plan(
    one: Try,
    begins_us: int,
    restored: Saved | None,
    horizon_us: int,
    effects: Effects,
    rng: random.Random,
) -> Plan:
    """The undisturbed attempt, on the clock of its hosts: `begins_us` has the skew in it."""
    job = one.job
    start = start_up(job, begins_us, restored, one.number > 1, one.is_in_place, effects, rng)
    loop = train(job, start.ready_us, restored, horizon_us - HOUR, effects, rng)
    training = Span(Phase.TRAINING, start.ready_us, loop.ends_us)
    uploaded = max((span.end_us or 0 for span in loop.spans), default=0)
    shutdown = _shutdown(job, loop.ends_us, uploaded, rng)
    return Plan(
        begins_us,
        start.granted_us,
        (*start.spans, training, *loop.spans, *shutdown),
        loop.progress,
        loop.stall,
        restored,
        max(span.end_us or 0 for span in shutdown),
    )


def close(
    one: Try,
    made: Plan,
    fate: Fate | None,
    grace_us: int = 0,
    preempted_by: str | None = None,
) -> Attempt:
    """What the plan came to. Without a fate it ran to its end.

    What begins or ends in the last milliseconds before a kill, within the delays of the ranks, is
    not told.
    """
    at = made.ends_us if fate is None else fate.at_us
    slack = one.job.rank_slack_us
    spans = made.spans if fate is None else _cut(made.spans, at, slack)
    if grace_us:
        spans = (*spans, Span(Phase.SHUTDOWN, at, at + grace_us))
    is_silent = fate is not None and fate.is_silent
    attempt = Attempt(
        number=one.number,
        allocation=one.allocation,
        gpus=one.job.gpus,
        skew_us=one.skew_us,
        granted_us=made.granted_us if made.granted_us < at else None,
        begins_us=made.begins_us,
        ends_us=at + grace_us,
        spans=spans,
        progress=tuple(each for each in made.progress if each.at_us < at),
        alive_us=_alive(one.job, made, at),
        stall=made.stall if made.stall and made.stall.over_us <= at else None,
        restored=made.restored,
        is_in_place=one.is_in_place,
        outcome=Outcome.COMPLETED if fate is None else fate.outcome,
        is_end_told=not is_silent,
        cause=fate.cause if fate else None,
        echo=fate.echo if fate else None,
        failed_us=at,
        preempted_by=preempted_by,
    )
    return _fallen_silent(attempt, slack) if is_silent else attempt


def last_said_us(attempt: Attempt, slack_us: int) -> int:
    """The last moment of which the attempt told anything."""
    said = [attempt.begins_us, attempt.granted_us or 0, *attempt.alive_us]
    said += [each.at_us for each in attempt.progress]
    for span in attempt.spans:
        delay = 0 if span.phase in TOLD_ONCE else slack_us
        said.append((span.begin_us if span.end_us is None else span.end_us) + delay)
    return max(said)


def has_loaded(attempt: Attempt) -> bool:
    """Whether it got as far as restoring its checkpoint; if not, nothing was restored."""
    return any(span.phase is Phase.CHECKPOINT_LOAD for span in attempt.spans)


def saved(attempt: Attempt, slack_us: int) -> list[Saved]:
    """The checkpoints of an attempt that can be restored, oldest first."""
    uploads = {span.step: span for span in attempt.spans if span.phase is Phase.CHECKPOINT_UPLOAD}
    kept = []
    for span in attempt.spans:
        if span.phase is not Phase.CHECKPOINT_SAVE or span.end_us is None or not span.is_ok:
            continue
        durable: int | None = span.end_us + slack_us
        if span.mode == "async":
            upload = uploads[span.step]
            durable = upload.end_us if upload.is_ok else None
        if durable is not None:
            kept.append(Saved(span.step or 0, span.begin_us, durable, span.trained_us))
    return kept


def _fallen_silent(attempt: Attempt, slack: int) -> Attempt:
    """It ends where it last said anything; a stall that it never told the end of cannot be seen."""
    ends = last_said_us(attempt, slack)
    is_seen = attempt.stall is not None and attempt.stall.over_us <= ends
    return replace(attempt, ends_us=ends, stall=attempt.stall if is_seen else None)


def _cut(spans: tuple[Span, ...], at: int, slack: int) -> tuple[Span, ...]:
    return tuple(
        replace(span, end_us=None) if span.end_us is None or span.end_us + slack >= at else span
        for span in spans
        if span.begin_us + slack < at
    )


def _alive(job: Job, made: Plan, at: int) -> tuple[int, ...]:
    """Jobs that never tell progress give a sign of life every hour."""
    if job.progress_every_us is not None:
        return ()
    return tuple(range(made.begins_us + ALIVE_EVERY_US, at, ALIVE_EVERY_US))


def _shutdown(job: Job, begin: int, uploaded: int, rng: random.Random) -> tuple[Span, ...]:
    """Stopping waits for the last upload."""
    lasts = of_seconds((95 if job.is_production else 35) * rng.lognormvariate(0, 0.3))
    lasts = max(lasts, uploaded + 3 * SECOND - begin)
    whole = Span(Phase.SHUTDOWN, begin, begin + lasts)
    if not job.is_production:
        return (whole,)
    publish = Span(Phase.SHUTDOWN, begin + 2 * SECOND, begin + lasts - 3 * SECOND, "model_publish")
    return (whole, publish)
