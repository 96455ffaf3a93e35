"""The GPUs of the cluster and who holds them: a priority queue, with preemption and reclaims.

Knows no phases.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

import simpy

from sample_data.jobs import Job
from sample_data.planted import Effects, Kind
from sample_data.times import HOUR, MINUTE, of_seconds

# A waiting job of the high class may preempt when it is this old.
_POLITE_US = 2 * HOUR

# A waiting job this old keeps smaller ones from overtaking it.
_PATIENCE_US = 12 * HOUR

_RECLAIMS_PER_JOB_HOUR = 0.009
_TICK_US = 10 * MINUTE

Steps = Generator[simpy.Event, Any, None]


class Holder(Protocol):
    """A running job as the pool sees it."""

    job: Job

    def may_be_preempted(self) -> bool: ...
    def preempt(self, by: str) -> None: ...


@dataclass(slots=True)
class Request:
    """A place in the queue."""

    holder: Holder
    since_us: int
    granted: simpy.Event
    has_preempted: bool = field(default=False)


class Pool:
    """Grants GPUs by priority, then by age; the high may preempt the low."""

    def __init__(self, env: simpy.Environment, gpus: int, rng: random.Random) -> None:
        self.env = env
        self.free = gpus
        self.waiting: list[Request] = []
        self.running: dict[str, Holder] = {}
        self.rng = rng
        self.reservations = 0

    def ask(self, holder: Holder) -> simpy.Event:
        """Queue for the GPUs of the holder's job; the event fires when it has them."""
        request = Request(holder, self._now(), self.env.event())
        self.waiting.append(request)
        self.waiting.sort(key=_precedence)
        self._grant()
        return request.granted

    def release(self, holder: Holder) -> None:
        del self.running[holder.job.id]
        self._return(holder.job.gpus)

    def tend(self, effects: Effects) -> Steps:
        """Every few minutes see who may go first now, and reclaim GPUs for reserved capacity."""
        while True:
            yield self.env.timeout(_TICK_US)
            self._grant()
            rate = _RECLAIMS_PER_JOB_HOUR * effects.factor(Kind.PREEMPTION_WAVE, None, self._now())
            chance = rate * _TICK_US / HOUR
            for holder in list(self.running.values()):
                if self.rng.random() < chance and _is_reclaimable(holder):
                    self.reservations += 1
                    holder.preempt(f"reservation-{self.reservations}")
                    self.env.process(self._reserve(holder.job.gpus))

    def _reserve(self, wanted: int) -> Steps:
        gpus = min(self.free, wanted)
        self.free -= gpus
        yield self.env.timeout(of_seconds(self.rng.uniform(600, 2400)))
        self._return(gpus)

    def _return(self, gpus: int) -> None:
        self.free += gpus
        self._grant()

    def _grant(self) -> None:
        for request in list(self.waiting):
            if request.holder.job.gpus <= self.free:
                self._start(request)
            elif not self._preempts_for(request) and self._is_impatient(request):
                return

    def _start(self, request: Request) -> None:
        self.waiting.remove(request)
        self.free -= request.holder.job.gpus
        self.running[request.holder.job.id] = request.holder
        request.granted.succeed()

    def _preempts_for(self, request: Request) -> bool:
        """Preempt the youngest of two classes below, if that frees enough; once per request."""
        job = request.holder.job
        if request.has_preempted or job.rank_of_priority < 2:
            return False
        if job.rank_of_priority == 2 and self._now() - request.since_us < _POLITE_US:
            return False
        victims, missing = [], job.gpus - self.free
        for holder in reversed(list(self.running.values())):
            if missing <= 0:
                break
            if holder.job.rank_of_priority <= job.rank_of_priority - 2 and (
                holder.may_be_preempted()
            ):
                victims.append(holder)
                missing -= holder.job.gpus
        if missing > 0:
            return False
        request.has_preempted = True
        for holder in victims:
            holder.preempt(job.id)
        return True

    def _is_impatient(self, request: Request) -> bool:
        return self._now() - request.since_us > _PATIENCE_US

    def _now(self) -> int:
        return int(self.env.now)


def _precedence(request: Request) -> tuple[int, int, str]:
    return (-request.holder.job.rank_of_priority, request.since_us, request.holder.job.id)


def _is_reclaimable(holder: Holder) -> bool:
    return holder.job.rank_of_priority < 3 and holder.may_be_preempted()
