"""The discrete-event simulation: jobs queue, run, fail, are preempted, retried, until data ends.

It returns what happened, job by job; it renders no event and computes no measure.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import simpy

from ingest.events import Outcome
from sample_data.doings import Attempt, Fate, History, Plan, Saved, Wait
from sample_data.fates import fate, may_be_cut
from sample_data.jobs import Job
from sample_data.lifecycle import Try, close, has_loaded, plan, saved
from sample_data.planted import Effects
from sample_data.pool import Pool
from sample_data.times import SECOND, of_seconds

_MOST_ATTEMPTS = 25

Steps = Generator[simpy.Event, Any, None]


def run_cluster(
    jobs: list[Job], gpus: int, begins_us: int, ends_us: int, effects: Effects, seed: int
) -> list[History]:
    """What happens to the jobs from `begins_us` to `ends_us`, in the order of the jobs."""
    env = simpy.Environment(initial_time=begins_us)
    pool = Pool(env, gpus, random.Random(f"{seed}/pool"))
    lives = [Life(env, pool, job, ends_us, effects, seed) for job in jobs]
    for life in lives:
        env.process(life.live())
    env.process(pool.tend(effects))
    env.run(until=ends_us)
    return [life.history() for life in lives]


class Life:
    """One job on its way through the cluster.

    The cluster's own clock stands on whole milliseconds.
    """

    def __init__(
        self,
        env: simpy.Environment,
        pool: Pool,
        job: Job,
        horizon_us: int,
        effects: Effects,
        seed: int,
    ) -> None:
        self.env = env
        self.pool = pool
        self.job = job
        self.horizon_us = horizon_us
        self.effects = effects
        self.rng = random.Random(f"{seed}/{job.id}/life")
        self.attempts: list[Attempt] = []
        self.waits: list[Wait] = []
        self.checkpoints: list[Saved] = []
        self.waits_since: int | None = None
        self.current: tuple[Try, Plan] | None = None
        self.holding: simpy.Process | None = None

    def live(self) -> Steps:
        yield self.env.timeout(self.job.submitted_us - self._now())
        allocation = 0
        while True:
            self.waits_since = self._now()
            yield self.pool.ask(self)
            number = len(self.attempts) + 1
            self.waits.append(Wait(number, self.waits_since, self._now()))
            self.waits_since = None
            allocation += 1
            yield from self._allocated(f"{self.job.id}/a{allocation}")
            self.pool.release(self)
            if not self._is_retried():
                return
            yield self.env.timeout(of_seconds(self.rng.uniform(8, 90)))

    def may_be_preempted(self) -> bool:
        """While an attempt runs, a moment after it began, and not in a stall."""
        if self.holding is None or not self.holding.is_alive or self.current is None:
            return False
        one, made = self.current
        now = self._now() + one.skew_us
        return now > made.begins_us + 30 * SECOND and may_be_cut(made, now)

    def preempt(self, by: str) -> None:
        assert self.holding is not None
        holding, self.holding = self.holding, None
        holding.interrupt(by)

    def history(self) -> History:
        """All that happened, with what still runs or waits at the horizon."""
        attempts, waits = list(self.attempts), list(self.waits)
        if self.current is not None:
            running = self._still_running(self.horizon_us)
            if running.spans or running.granted_us is not None:
                attempts.append(running)
        if self.waits_since is not None:
            waits.append(Wait(len(attempts) + 1, self.waits_since, None))
        return History(self.job, tuple(attempts), tuple(waits))

    def _allocated(self, allocation: str) -> Steps:
        """The attempts of one allocation: usually one, more where the job restarts in place."""
        is_in_place, skew = False, self._skew()
        while True:
            one = Try(self.job, len(self.attempts) + 1, allocation, skew, is_in_place)
            made = plan(
                one,
                self._now() + skew,
                self._restored(),
                self.horizon_us,
                self.effects,
                self.rng,
            )
            self.current = (one, made)
            yield from self._attempt(one, made)
            self.current = None
            if not self._restarts_in_place():
                return
            is_in_place = True
            yield self.env.timeout(of_seconds(self.rng.uniform(6, 40)))

    def _attempt(self, one: Try, made: Plan) -> Steps:
        doom = fate(self.job, one.number, made, self.horizon_us, self.effects, self.rng)
        grace, by = 0, None
        if doom is not None and doom.outcome in (Outcome.FAILED, Outcome.CANCELLED):
            grace = self._grace(3, 12)
        ends = made.ends_us if doom is None else doom.at_us
        self.holding = self.env.process(self._hold(ends - one.skew_us))
        taken = yield self.holding
        self.holding = None
        if taken is not None:
            by, at = taken
            doom = Fate(at + one.skew_us, Outcome.PREEMPTED)
            grace = self._grace(15, 45) or 20 * SECOND
        yield self.env.timeout(grace)
        done = close(one, made, doom, grace, by)
        self._remember(done)
        if done.outcome == "lost":
            yield self.env.timeout(of_seconds(self.rng.uniform(20, 60) * 60))

    def _hold(self, until_us: int) -> Generator[simpy.Event, Any, tuple[str, int] | None]:
        """Hold the GPUs to the end of the plan; if preempted, by whom and when."""
        try:
            yield self.env.timeout(max(0, -(-until_us // 1000) * 1000 - self._now()))
        except simpy.Interrupt as interrupt:
            return str(interrupt.cause), self._now()
        return None

    def _remember(self, done: Attempt) -> None:
        if done.restored is not None and has_loaded(done):
            newest = done.restored.captured_us
            self.checkpoints = [each for each in self.checkpoints if each.captured_us <= newest]
        self.attempts.append(done)
        self.current = None
        self.checkpoints += [
            each for each in saved(done, self.job.rank_slack_us) if each.durable_us <= done.ends_us
        ]

    def _still_running(self, at_us: int) -> Attempt:
        assert self.current is not None
        one, made = self.current
        return close(one, made, Fate(at_us, "running", is_silent=True))

    def _restored(self) -> Saved | None:
        """The newest checkpoint; rarely the one before, if the job says which it took."""
        if len(self.checkpoints) >= 2 and self.job.tells_resume and self.rng.random() < 0.04:
            return self.checkpoints[-2]
        return self.checkpoints[-1] if self.checkpoints else None

    def _restarts_in_place(self) -> bool:
        last = self.attempts[-1]
        return (
            self.job.restarts_in_place
            and last.outcome == Outcome.FAILED
            and last.granted_us is not None
            and last.cause is not None
            and not last.cause.category.startswith(("gpu_hardware", "scheduler", "user_code"))
            and len(self.attempts) < _MOST_ATTEMPTS
        )

    def _is_retried(self) -> bool:
        last = self.attempts[-1]
        if len(self.attempts) >= _MOST_ATTEMPTS or last.outcome in (
            Outcome.COMPLETED,
            Outcome.CANCELLED,
            Outcome.TIMEOUT,
        ):
            return False
        if last.outcome == "lost":
            return self.rng.random() < (0.8 if self.job.is_production else 0.3)
        if last.cause is not None and last.cause.category.startswith(("user_code", "data")):
            return self.rng.random() < 0.3
        return self.job.is_production or self.rng.random() < 0.85

    def _skew(self) -> int:
        """Most hosts are right to the millisecond, some are off by up to a second."""
        if self.rng.random() < 0.8:
            return 0
        skew = self.rng.randrange(-1_000_000, 1_000_000)
        return skew // 1000 * 1000 if self.job.team.clock == "unix" else skew

    def _grace(self, least_s: float, most_s: float) -> int:
        return of_seconds(self.rng.uniform(least_s, most_s)) if self.rng.random() < 0.6 else 0

    def _now(self) -> int:
        return int(self.env.now)
