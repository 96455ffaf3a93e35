"""What befalls an attempt: machine failures (Weibull per GPU), storage, users, limits, silence.

Times only, no cuts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from math import log

from ingest.events import Outcome, Phase
from sample_data import causes
from sample_data.doings import Fate, Plan
from sample_data.jobs import Job
from sample_data.planted import Effects, Kind
from sample_data.times import HOUR, MINUTE, SECOND, of_seconds

# Time to failure of one GPU: young runs fail a little more often than old ones.
_GPU_SCALE_HOURS = 11_000.0
_GPU_SHAPE = 0.88

_STORAGE_FAILURES_PER_HOUR = 0.0022

# No loss in the last hours: silence that short would still count as running.
_LOST_BEFORE_END_US = 7 * HOUR

_EARLIEST_US = MINUTE


def fate(
    job: Job, number: int, plan: Plan, horizon_us: int, effects: Effects, rng: random.Random
) -> Fate | None:
    """The first thing that ends the plan early; None if it runs to its own end."""
    first = min(
        _candidates(job, number, plan, horizon_us, effects, rng),
        key=lambda each: each.at_us,
        default=None,
    )
    if first is None or first.at_us >= plan.ends_us:
        return None
    return first


def may_be_cut(plan: Plan, at_us: int) -> bool:
    """Not in a stall: cut short, it could not be told from an ordinary gap."""
    stall = plan.stall
    return stall is None or not stall.since_us <= at_us <= stall.over_us


def _candidates(
    job: Job, number: int, plan: Plan, horizon_us: int, effects: Effects, rng: random.Random
) -> Iterator[Fate]:
    for each in (
        _machines(job, plan, rng),
        _storage(job, plan, effects, rng),
        _user(job, number, plan, rng),
        _cancelled(job, plan, rng),
        _time_limit(job, plan),
        _lost(plan, horizon_us, rng),
    ):
        if each is not None:
            yield _after_stall(each, plan)
    if plan.stall is not None and plan.stall.is_fatal:
        yield _watchdog(plan, rng)


def _after_stall(each: Fate, plan: Plan) -> Fate:
    """Nothing else happens during a stall; what would have, happens just after it."""
    if plan.stall is None or may_be_cut(plan, each.at_us):
        return each
    at = plan.stall.over_us + 5 * SECOND
    return Fate(at, each.outcome, each.cause, each.echo, each.is_silent)


def _machines(job: Job, plan: Plan, rng: random.Random) -> Fate:
    """The least of `gpus` Weibull times is Weibull too: large jobs fail sooner."""
    exponential = -log(1.0 - rng.random())
    hours = _GPU_SCALE_HOURS * (exponential / job.gpus) ** (1 / _GPU_SHAPE)
    at = plan.begins_us + max(_EARLIEST_US, of_seconds(min(hours, 9_000.0) * 3600))
    echo = causes.echo(rng) if rng.random() < 0.4 else None
    return Fate(at, Outcome.FAILED, causes.infra(rng), echo)


def _storage(job: Job, plan: Plan, effects: Effects, rng: random.Random) -> Fate | None:
    """Candidates come at the highest rate there is and are kept by the rate of their day."""
    highest = effects.highest(Kind.STORAGE_FAILURES)
    at = plan.begins_us
    while True:
        hours = rng.expovariate(_STORAGE_FAILURES_PER_HOUR * highest)
        at += max(_EARLIEST_US, of_seconds(hours * 3600))
        if at >= plan.ends_us:
            return None
        kept = effects.factor(Kind.STORAGE_FAILURES, job.team.name, at) / highest
        if rng.random() < kept:
            return Fate(_in_a_save(plan, at), Outcome.FAILED, causes.storage(rng))


def _in_a_save(plan: Plan, at: int) -> int:
    """Storage is felt while saving: the middle of the next save, if one is near."""
    for span in plan.spans:
        if span.phase is Phase.CHECKPOINT_SAVE and at <= span.begin_us < at + HOUR:
            return (span.begin_us + (span.end_us or span.begin_us)) // 2000 * 1000
    return at


def _user(job: Job, number: int, plan: Plan, rng: random.Random) -> Fate | None:
    chance = (0.03 if job.is_production else 0.11) if number == 1 else 0.012
    if rng.random() >= chance:
        return None
    training = next(each.begin_us for each in plan.spans if each.phase is Phase.TRAINING)
    if rng.random() < 0.45:
        share = rng.uniform(0.25, 0.98)
        at = plan.begins_us + of_seconds(share * (training - plan.begins_us) / SECOND)
        return Fate(at, Outcome.FAILED, causes.user(rng, before_training=True))
    at = training + of_seconds(60 + rng.expovariate(1 / 1800))
    return Fate(at, Outcome.FAILED, causes.user(rng, before_training=False))


def _cancelled(job: Job, plan: Plan, rng: random.Random) -> Fate | None:
    if rng.random() >= (0.015 if job.is_production else 0.07):
        return None
    at = plan.begins_us + of_seconds(
        rng.uniform(0.1, 0.95) * (plan.ends_us - plan.begins_us) / SECOND
    )
    return Fate(at, Outcome.CANCELLED)


def _time_limit(job: Job, plan: Plan) -> Fate | None:
    if job.time_limit_us is None:
        return None
    return Fate(plan.begins_us + job.time_limit_us, Outcome.TIMEOUT)


def _lost(plan: Plan, horizon_us: int, rng: random.Random) -> Fate | None:
    at = plan.begins_us + of_seconds(
        rng.uniform(0.2, 0.95) * (plan.ends_us - plan.begins_us) / SECOND
    )
    if rng.random() >= 0.012 or at > horizon_us - _LOST_BEFORE_END_US:
        return None
    return Fate(at, "lost", is_silent=True)


def _watchdog(plan: Plan, rng: random.Random) -> Fate:
    assert plan.stall is not None
    silent_s = (plan.stall.over_us - plan.stall.since_us) // SECOND
    return Fate(plan.stall.over_us, Outcome.FAILED, causes.hang(rng, silent_s))
