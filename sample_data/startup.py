"""From GPUs granted to the train loop: the phases of starting, their stages and overlaps.

Plans, never cuts.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from ingest.events import Phase
from sample_data.doings import Saved, Span
from sample_data.jobs import Job
from sample_data.planted import Effects, Kind
from sample_data.times import of_seconds

# Parts of trainer_init, as shares of it; neighbours overlap.
_STAGES = (
    ("device_init", 0.0, 0.11),
    ("process_group_init", 0.07, 0.26),
    ("preproc_creation", 0.19, 0.62),
    ("train_module_creation", 0.24, 0.69),
    ("init_plugins", 0.66, 0.78),
    ("pre_train", 0.74, 0.88),
    ("get_first_batch_data", 0.82, 1.0),
)


@dataclass(frozen=True, slots=True)
class StartUp:
    """How an attempt would start; at `ready_us` the train loop begins."""

    spans: tuple[Span, ...]
    granted_us: int
    ready_us: int


def start_up(
    job: Job,
    begins_us: int,
    restored: Saved | None,
    is_retry: bool,
    is_in_place: bool,
    effects: Effects,
    rng: random.Random,
) -> StartUp:
    """A start at `begins_us`; in place there is no scheduling and less to set up."""
    spans: list[Span] = []
    granted = begins_us
    if not is_in_place:
        granted += _lasting(rng, 14, job.start_scale)
        spans.append(Span(Phase.SCHEDULING, begins_us, granted))
    at = granted + _gap(rng)
    for phase, median_s in _bring_up(is_in_place):
        end = at + _lasting(rng, median_s, job.start_scale)
        spans.append(Span(phase, at, end))
        at = end + _gap(rng)
    init_end = at + _lasting(rng, 145, job.start_scale * _slowed(job, at, effects))
    spans += _trainer_init(job, at, init_end)
    compiles_at = _part(at, init_end, 0.7) if job.compiles_early else init_end
    ready = init_end
    if restored is not None:
        ready += _lasting(rng, 38, job.start_scale)
        spans.append(_load(job, init_end, ready, restored))
        compiles_at = compiles_at if job.compiles_early else ready
    compile_span = _compile(job, compiles_at, is_retry, effects, rng)
    spans.append(compile_span)
    ready = max(ready, compile_span.end_us or 0) + _gap(rng)
    return StartUp(tuple(spans), granted, ready)


def _bring_up(is_in_place: bool) -> tuple[tuple[Phase, float], ...]:
    if is_in_place:
        return ((Phase.LAUNCHER_INIT, 9.0),)
    return ((Phase.HARDWARE_SETUP, 34.0), (Phase.LAUNCHER_INIT, 22.0))


def _slowed(job: Job, at_us: int, effects: Effects) -> float:
    return effects.factor(Kind.SLOWER_START, job.team.name, at_us)


def _trainer_init(job: Job, begin: int, end: int) -> list[Span]:
    spans = [Span(Phase.TRAINER_INIT, begin, end)]
    if job.tells_stages:
        spans += [
            Span(Phase.TRAINER_INIT, _part(begin, end, since), _part(begin, end, until), stage)
            for stage, since, until in _STAGES
        ]
    return spans


def _part(begin: int, end: int, share: float) -> int:
    return begin + of_seconds((end - begin) * share / 1_000_000)


def _load(job: Job, begin: int, end: int, restored: Saved) -> Span:
    return Span(
        Phase.CHECKPOINT_LOAD,
        begin,
        end,
        step=restored.step,
        resumed_from=restored.step if job.tells_resume else None,
    )


def _compile(job: Job, begin: int, is_retry: bool, effects: Effects, rng: random.Random) -> Span:
    kept = effects.factor(Kind.COMPILE_CACHE_LOST, job.team.name, begin)
    hits = min(0.95, job.team.cache_hit_ratio + (0.1 if is_retry else 0.0)) * kept
    is_hit = rng.random() < hits
    lasts = _lasting(rng, 42.0 if is_hit else 215.0, job.start_scale)
    return Span(
        Phase.PT2_COMPILE,
        begin,
        begin + lasts,
        cache="hit" if is_hit else "miss",
        recompiles=rng.choice((0, 0, 0, 1, 2)),
    )


def _lasting(rng: random.Random, median_s: float, scale: float) -> int:
    return of_seconds(median_s * scale * rng.lognormvariate(0.0, 0.16))


def _gap(rng: random.Random) -> int:
    """Now and then a second or two that no phase explains."""
    return of_seconds(rng.uniform(0.2, 2.5)) if rng.random() < 0.3 else 0
