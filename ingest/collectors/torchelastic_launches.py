"""One life of a torchrun agent, gathered as it is told by its log or by its event records, as
events. Reads no text.

A generation is what torchrun starts after each failure; it says nothing of what the trainer does in
it, so `trainer_init` begins and is not seen to end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.collectors.torchelastic_failures import Failure, Failures
from ingest.collectors.torchelastic_runs import Run
from ingest.collectors.torchelastic_training import Pause
from ingest.events import Event, EventKind, Outcome, Phase

_SIGINT = 2
_AGENT = "torchrun agent"
_GRACE_US = 1_000_000
_KILLED_US = 30_000_000  # after that torchrun has killed workers that it told to stop


@dataclass(frozen=True, slots=True)
class Stop:
    """What ended a launch from outside; `outcome` is the scheduler's word, where it said one."""

    at_us: int
    line: int
    signal: int | None = None
    outcome: Outcome | None = None
    message: str | None = None


@dataclass(slots=True)
class Launch:
    """How far one agent came; None is not told. `seen_us` is the latest time that was told.

    `generation` is the agent's own count of restarts. Workers that it starts anew because others
    asked for it are not in it: `rejoins` counts those, and after one, up to a failure of this
    agent's own workers, which generation runs is not known here. `pauses` are those of all
    launches of a file, `own_pauses` this one's, and `pause` is its newest. `completed_us` is when
    the trainer that wrote into the same file said that it is done, or preempted: `completed_as`.
    `ready_us` is when its first workers were started. `gone_us` is when it was gone at the latest,
    as another one took its job. `is_begin_told`: it said itself when it began, and its log does not
    just begin then. `heard_us` is the latest time that the trainer told in it. `has_broken_off`: it
    did so itself, and no line tells when. `is_left_out`: the others had no place for it, so that it
    started no workers. `closing_us` is when it first told workers that run to stop, or saw one die.
    `stopping_us` is the latest time that the trainer told while the launch was stopped.
    `given_up_us` is when the agent said that it starts no workers any more. `is_trainers`: no agent
    spoke in it, only its trainer.
    """

    run: Run
    is_logged: bool
    pid: str | None = None
    run_id: str | None = None
    scheduler_job: str | None = None
    restart: int | None = None
    began_us: int | None = None
    generation: int | None = None
    rank: int | None = None
    is_alone: bool = False
    is_set_up: bool = False
    rendezvous_us: int | None = None
    workers_us: int | None = None
    ready_us: int | None = None
    closing_us: int | None = None
    stopping_us: int | None = None
    failed_us: int | None = None
    finished_us: int | None = None
    done_us: int | None = None
    seen_us: int | None = None
    end_line: int = 0
    stop: Stop | None = None
    failures: Failures = field(default_factory=Failures)
    next_failures: Failures = field(default_factory=Failures)
    rejoins: int = 0
    has_rejoined: bool = False
    pauses: list[Pause] = field(default_factory=list)
    pause: Pause | None = None
    own_pauses: list[Pause] = field(default_factory=list)
    is_begin_told: bool = True
    has_trainer: bool = False
    completed_us: int | None = None
    completed_as: Outcome = Outcome.COMPLETED
    is_closed: bool = False
    gone_us: int | None = None
    heard_us: int | None = None
    has_broken_off: bool = False
    is_left_out: bool = False
    given_up_us: int | None = None
    is_trainers: bool = False
    _has_attempt: bool = False
    _is_first: bool = True

    @property
    def key(self) -> str | None:
        """What tells this launch from the run's others, where it is known when it began."""
        if self.began_us is None:
            return None
        return f"{self.pid}@{self.began_us}" if self.pid else str(self.began_us)

    @property
    def round(self) -> int | None:
        """The generation among those of all agents, as far as this one saw them begin."""
        return None if self.generation is None else self.generation + self.rejoins

    @property
    def is_over(self) -> bool:
        """Whether it said how it ended."""
        return self.stop is not None or self.finished_us is not None or self.done_us is not None

    @property
    def keeps_to_warnings(self) -> bool:
        """Whether its log tells failures only, as by default: of no workers that they start."""
        return self.is_logged and self.ready_us is None and self.key is not None

    @property
    def over_us(self) -> int | None:
        """When its last workers were done, died or were stopped, if it said so."""
        if self.is_left_out:
            return None
        if self.finished_us is not None or self.failed_us is not None:
            return self.finished_us or self.failed_us
        return None if self.stop is None else self.stop.at_us

    @property
    def is_silent_of_end(self) -> bool:
        """Whether it said neither how it ended nor that any of its workers died."""
        has_failed = any(failure.is_certain for failure in self.failures.told)
        return not self.is_over and self.failed_us is None and not has_failed

    @property
    def is_under_way(self) -> bool:
        """Whether it came as far as the rendezvous."""
        reached = (self.rendezvous_us, self.workers_us, self.failed_us)
        return self.is_over or any(at_us is not None for at_us in reached)

    @property
    def may_be_stopping(self) -> bool:
        """Whether it was stopped from outside, so that its workers may still save."""
        return self.stop is not None and self.finished_us is None and self.failed_us is None

    def saw(self, at_us: int | None) -> None:
        """Move the latest time that anything tells."""
        if at_us is not None:
            self.seen_us = at_us if self.seen_us is None else max(self.seen_us, at_us)

    def round_at(self, at_us: int) -> int | None:
        """The generation whose workers ran at a time, or had died of late: they start anew later.
        Not known where other agents made it start them anew.
        """
        if self.round is None or self.rejoins:
            return None
        ahead = sum(pause.until_us is None or pause.until_us > at_us for pause in self.own_pauses)
        return self.round - ahead

    def rank_of(self, local_rank: int | None) -> int | None:
        """The rank of a worker: torchrun numbers those of a node in a row."""
        if local_rank is None:
            return None
        if self.rank is not None:
            return self.rank + local_rank
        return local_rank if self.is_alone else None


def rendezvous(launch: Launch, at_us: int) -> Iterator[Event]:
    """The agents meet: workers that failed before are a generation that is over. Those that run
    are started anew because another agent's failed or because nodes joined, which torchrun does
    not count as a restart.
    """
    if launch.failed_us is not None:
        yield from end_generation(launch)
    elif launch.workers_us is not None and launch.rendezvous_us is None:
        from_us = launch.closing_us or at_us
        yield from _shutdown(launch, from_us, at_us)
        launch.rejoins += 1
        launch.has_rejoined = True
        _pause(launch, from_us)
    launch.rendezvous_us = at_us


def workers(launch: Launch, at_us: int) -> Iterator[Event]:
    """The workers of a generation start."""
    yield from _attempt(launch)
    for meeting in _meeting(launch):
        yield {**meeting, "end_us": max(meeting["at_us"], at_us)}
    launch.rendezvous_us, launch.workers_us, launch._is_first = None, at_us, False
    launch.closing_us = None
    launch.ready_us = launch.ready_us or at_us
    if launch.pause is not None and launch.pause.until_us is None:
        launch.pause.until_us = at_us
    init = _event(launch, at_us, EventKind.PHASE_START, None)
    init["phase"] = Phase.TRAINER_INIT
    if launch.rank is not None:  # of several agents each starts workers of its own
        init["rank"] = launch.rank
    yield init


def fail(launch: Launch, failure: Failure, at_us: int | None) -> Iterator[Event]:
    """The agent saw a worker die. Of workers that died long before the next ones were started."""
    if _is_later(launch, at_us):
        yield from end_generation(launch)
    if failure.rank is None:
        failure.rank = launch.rank_of(failure.local_rank)
    launch.failures.add(failure)
    launch.end_line = failure.line
    if at_us is not None:
        launch.closing_us = launch.closing_us or at_us
        launch.failed_us = at_us if launch.failed_us is None else max(launch.failed_us, at_us)


def hear_exception(launch: Launch, failure: Failure) -> None:
    """A worker's traceback: of the workers that run, for it tells no time."""
    if failure.rank is None:
        failure.rank = launch.rank_of(failure.local_rank)
    elif launch.rank is None and failure.local_rank is not None:
        first = failure.rank - failure.local_rank
        launch.rank = first if first >= 0 else None
    of = launch.failures if launch.failed_us is None else launch.next_failures
    of.add(failure)


def outlive(launch: Launch, at_us: int | None) -> Iterator[Event]:
    """The agent runs on when its workers have died: it started others."""
    if _is_later(launch, at_us):
        yield from end_generation(launch)


def close_workers(launch: Launch, at_us: int | None) -> Iterator[Event]:
    """The agent sends its workers a signal: there are some, and what they did is over."""
    yield from outlive(launch, at_us)
    if launch.failed_us is None:
        launch.closing_us = launch.closing_us or at_us


def halt(launch: Launch, stop: Stop) -> None:
    """The launch is stopped from outside; the scheduler says why, the agent with which signal."""
    known = launch.stop
    if known is None:
        launch.stop = stop
        return
    launch.stop = Stop(
        max(known.at_us, stop.at_us),
        known.line if known.outcome else stop.line,
        known.signal or stop.signal,
        known.outcome or stop.outcome,
        known.message if known.outcome else stop.message or known.message,
    )


def end_generation(launch: Launch) -> Iterator[Event]:
    """The workers have failed, and torchrun starts them anew."""
    failed_us = launch.failed_us
    assert failed_us is not None
    yield from _attempt(launch)
    yield from _failed(launch, failed_us)
    _pause(launch, _stopped_us(launch, failed_us))
    launch.failures, launch.next_failures = launch.next_failures, Failures()
    launch.failed_us = launch.workers_us = launch.closing_us = launch.done_us = None
    launch._has_attempt = launch._is_first = launch.has_rejoined = False
    if launch.generation is not None:
        launch.generation += 1
    if launch.keeps_to_warnings:
        yield from _began_untold(launch, failed_us + 1)


def break_off(launch: Launch, line: int, message: str, told_us: int) -> Iterator[Event]:
    """The agent itself broke off: by the last time that lines before tell, if it is later than all
    that it said, unless its workers were dead before.
    """
    at_us = launch.seen_us or 0
    if launch.failed_us is None:
        launch.has_broken_off = told_us <= at_us
        at_us = max(at_us, told_us)
    own = agents_own(line, message, None if launch.has_broken_off else at_us)
    yield from fail(launch, own, at_us)


def go_on(launch: Launch, at_us: int) -> Iterator[Event]:
    """The trainer speaks. All workers are dead when the agent says of one that it died: whoever
    trains later was started anew, which an agent that keeps to warnings does not say. Nor does it
    say that it stopped them as nodes joined, but to each that it has to stop.
    """
    if not launch.keeps_to_warnings or launch.has_broken_off:
        return
    if _is_later(launch, at_us):
        yield from end_generation(launch)
    stopped_us = launch.closing_us
    if launch.failed_us is not None or launch.is_over or stopped_us is None:
        return
    if at_us > stopped_us + _KILLED_US:
        launch.pauses.append(Pause(launch.run_id, stopped_us, at_us))
        launch.closing_us = None


def hear_trainer(launch: Launch, at_us: int) -> None:
    """The trainer tells a time: a launch that is stopped gives its workers some to save."""
    launch.heard_us = max(at_us, launch.heard_us or 0)
    if launch.stop is not None and 0 <= at_us - launch.stop.at_us <= _KILLED_US:
        launch.stopping_us = max(at_us, launch.stopping_us or 0)


def complete(launch: Launch, at_us: int, outcome: Outcome) -> Iterator[Event]:
    """The trainer says that it is done, or why not, maybe read after all that the agent says."""
    launch.completed_us = max(at_us, launch.completed_us or 0)
    launch.completed_as = outcome
    if launch.is_closed and launch.is_silent_of_end:
        yield _end(launch, launch.completed_us, outcome)


def close(launch: Launch) -> Iterator[Event]:
    """What is left to say when nothing more is told of a launch."""
    launch.is_closed = True
    last_us = launch.seen_us
    if last_us is None and launch.failed_us is None:
        return
    has_begun = launch.is_under_way or launch.has_trainer
    if launch.is_left_out or (launch._is_first and not has_begun):
        # that an agent began and no more: a log that keeps to warnings is silent of a good end
        is_named = launch.run.is_named(launch.run_id, launch.scheduler_job)
        if launch.began_us is not None and is_named:
            yield _event(launch, launch.began_us, EventKind.JOB, None)
        return
    yield from _attempt(launch)
    if launch.rendezvous_us is not None:
        yield from _meeting(launch)
    if launch.finished_us is not None:
        end_us = max(launch.finished_us, launch.done_us or 0)
        yield from _shutdown(launch, launch.finished_us, end_us)
        yield _end(launch, end_us, launch.completed_as)
    elif launch.failed_us is not None:
        if launch.has_broken_off:
            launch.failed_us = max(launch.failed_us, launch.heard_us or 0)
        yield from _failed(launch, max(launch.failed_us, launch.done_us or 0))
    elif launch.stop is not None:
        yield from _stopped(launch, launch.stop)
    elif launch.completed_us is not None and launch.is_silent_of_end:
        # a log that keeps to warnings tells no good end
        yield _end(launch, launch.completed_us, launch.completed_as)
    elif last_us is not None and (launch.began_us is not None or launch.generation is not None):
        for failure in launch.failures.told:
            if failure.is_certain:
                yield _failure(launch, failure, last_us)
        yield _event(launch, last_us, EventKind.ALIVE, None)


def _began_untold(launch: Launch, begun_us: int) -> Iterator[Event]:
    """The workers of a generation were started once the ones before them had died."""
    if launch.pause is None:
        return
    launch.pause.until_us = begun_us
    launch._has_attempt = True
    yield _event(launch, begun_us, EventKind.ATTEMPT_START, "start")


def _pause(launch: Launch, from_us: int) -> None:
    launch.pause = Pause(launch.run_id, from_us)
    launch.pauses.append(launch.pause)
    launch.own_pauses.append(launch.pause)


def _stopped_us(launch: Launch, failed_us: int) -> int:
    """When training was over: of a worker that died the agent tells when it has stopped all others,
    which may take them long.
    """
    return failed_us if launch.closing_us is None else min(launch.closing_us, failed_us)


def _is_later(launch: Launch, at_us: int | None) -> bool:
    """Whether what happens at a time cannot be of the workers that have failed already."""
    failed_us = launch.failed_us
    return failed_us is not None and at_us is not None and at_us > failed_us + _GRACE_US


def _begun_us(launch: Launch) -> int | None:
    """When the generation began: the first with its agent, others with their rendezvous."""
    if launch._is_first and launch.began_us is not None:
        return launch.began_us
    return launch.rendezvous_us


def _attempt(launch: Launch) -> Iterator[Event]:
    begun_us = _begun_us(launch)
    if launch._has_attempt or begun_us is None:
        return
    launch._has_attempt = True
    if launch.generation is None and launch.began_us is not None:
        launch.generation = 0
    # a log may begin in training: a start then would be a time to start of 0 s
    is_told = launch.is_begin_told or not launch._is_first
    kind = EventKind.ATTEMPT_START if is_told else EventKind.ALIVE
    yield _event(launch, begun_us, kind, "start")


def _meeting(launch: Launch) -> Iterator[Event]:
    begun_us = _begun_us(launch)
    if begun_us is not None:
        meeting = _event(launch, begun_us, EventKind.PHASE_START, f"launcher_init {begun_us}")
        meeting["phase"] = Phase.LAUNCHER_INIT
        yield meeting


def _failed(launch: Launch, end_us: int) -> Iterator[Event]:
    for failure in launch.failures.told:
        yield _failure(launch, failure, end_us)
    if launch.failed_us is not None:
        yield from _shutdown(launch, _stopped_us(launch, launch.failed_us), end_us)
    end = _end(launch, end_us, Outcome.FAILED)
    root = launch.failures.root()
    if root is not None:
        say(end, root)
    yield end


def _stopped(launch: Launch, stop: Stop) -> Iterator[Event]:
    end_us = max(stop.at_us, launch.seen_us or 0, launch.stopping_us or 0)
    yield from _shutdown(launch, stop.at_us, end_us)
    launch.end_line = stop.line
    outcome = stop.outcome
    if outcome is None:
        # torchrun cannot know who stopped it, or why; an interrupt is a person's
        outcome = Outcome.CANCELLED if stop.signal == _SIGINT else Outcome.FAILED
    end = _end(launch, end_us, outcome)
    if stop.signal is not None:
        end["signal"] = stop.signal
    if stop.message:
        end["message"] = stop.message
    yield end


def _shutdown(launch: Launch, from_us: int, end_us: int) -> Iterator[Event]:
    if end_us > from_us:
        stopping = _event(launch, from_us, EventKind.PHASE_START, "shutdown")
        yield {**stopping, "phase": Phase.SHUTDOWN, "end_us": end_us}


def _end(launch: Launch, at_us: int, outcome: Outcome) -> Event:
    end = _event(launch, at_us, EventKind.ATTEMPT_END, "end")
    end["outcome"] = outcome
    if launch.end_line:
        end["attrs"] = json.dumps({"line": launch.end_line})
    return end


def _failure(launch: Launch, failure: Failure, end_us: int) -> Event:
    told = {
        "rank": failure.rank,
        "local rank": failure.local_rank,
        "pid": failure.pid,
        "line": failure.line,
    }
    who = next(f"{name} {number}" for name, number in told.items() if number is not None)
    at_us = min(end_us if failure.at_us is None else failure.at_us, end_us)
    event = _event(launch, at_us, EventKind.FAILURE, f"failure of {failure.component} {who}")
    _say_all(event, failure)
    return event


def in_generation(launch: Launch, generation: int | None, failure: Event) -> Event:
    """A failure that a line of the launch's log is evidence of, at its own time."""
    event: Event = {**failure, **of_launch(launch)}
    if launch.key is not None:
        event["run_key"] = launch.key
    if generation is not None:
        event["run_generation"] = generation
    return event


def loose_failure(failure: Failure, generation: int | None, signal: int | None) -> Event:
    """A failure whose launch is not known, at its own time; the agent's if it was sent a signal."""
    assert failure.at_us is not None
    if signal is not None:
        failure.code, failure.component, failure.local_rank = -signal, _AGENT, None
    event: Event = {"at_us": failure.at_us, "event": EventKind.FAILURE}
    _say_all(event, failure)
    if generation is not None:
        event["run_generation"] = generation
    return event


def _say_all(event: Event, failure: Failure) -> None:
    say(event, failure)
    event["attrs"] = json.dumps({"line": failure.line})
    if failure.rank is not None:
        event["rank"] = failure.rank
    if failure.host:
        event["host"] = failure.host
    if failure.component:
        event["component"] = failure.component
    elif failure.rank is None and failure.local_rank is not None:
        event["component"] = f"local rank {failure.local_rank}"


def say(event: Event, failure: Failure) -> None:
    """Put what a worker died of into an event."""
    event["message"] = failure.text
    if failure.exit_code is not None:
        event["exit_code"] = failure.exit_code
    if failure.signal is not None:
        event["signal"] = failure.signal


def agents_own(line: int, message: str, at_us: int | None) -> Failure:
    """The agent itself broke off."""
    return Failure(line=line, at_us=at_us, message=message, component=_AGENT)


def of_run(run: Run, run_id: str | None, scheduler_job: str | None, restart: int | None) -> Event:
    """Whose events they are."""
    job_id, scheduler_job = run.named(run_id, scheduler_job)
    event: Event = {"job_id": job_id or ""}
    if scheduler_job is not None:
        event["scheduler_job"] = scheduler_job
    if restart is not None:
        event["run_restart"] = restart
    return event


def of_launch(launch: Launch) -> Event:
    """Whose events they are that a launch's file tells."""
    return of_run(launch.run, launch.run_id, launch.scheduler_job, launch.restart)


def _event(launch: Launch, at_us: int, kind: EventKind, name: str | None) -> Event:
    """`name` tells it from the launch's others, so that a log that has grown tells it once."""
    event: Event = {"at_us": at_us, "event": kind}
    event.update(of_launch(launch))
    key = launch.key
    if key is not None:
        event["run_key"] = key
        if name is not None:
            event["event_id"] = f"{key}/{launch.round}/{name}"
    if launch.round is not None and not launch.has_rejoined:
        event["run_generation"] = launch.round
    return event
