"""What happened, as lines of a native dump (INTERFACES.md section 2). It spoils nothing.

A line is kept in two parts: its times as integers, and `tail`, everything behind them. In a tail
`MARK` stands where a clone's suffix goes, so that the same fleet can be written many times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from ingest.events import EventKind, Phase
from sample_data.causes import Cause
from sample_data.doings import Attempt, History, Span
from sample_data.jobs import PRIORITIES, Job
from sample_data.lifecycle import TOLD_ONCE
from sample_data.planted import RollOut
from sample_data.times import DAY, HOUR

MARK = "\0"

NO_JOB = -1


@dataclass(slots=True)
class Lines:
    """Columns of equal length: when, until when (0: no `end_ts`), whose, and the rest."""

    at_us: list[int] = field(default_factory=list)
    until_us: list[int] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)

    def add(self, at_us: int, owner: int, tail: str, until_us: int = 0) -> None:
        self.at_us.append(at_us)
        self.until_us.append(until_us)
        self.owner.append(owner)
        self.tails.append(tail)


def lines_of(
    histories: Iterable[History], roll_outs: Iterable[RollOut], begins_us: int, ends_us: int
) -> Lines:
    """All lines of the fleet, job by job, then the changes; an owner is a place in `histories`."""
    lines = Lines()
    for owner, history in enumerate(histories):
        _Teller(lines, owner, history.job).tell(history)
    for each in roll_outs:
        at = begins_us + each.day * DAY + 9 * HOUR
        if at < ends_us:
            lines.add(at, NO_JOB, _change(each))
    return lines


def _change(each: RollOut) -> str:
    told: dict[str, str] = {"event": EventKind.CHANGE, "name": each.name}
    if each.team is not None:
        told["team"] = each.team
    told["description"] = each.description
    return "," + json.dumps(told, separators=(",", ":"))[1:]


class _Teller:
    """Tells one job; counts its events where the job gives them ids."""

    def __init__(self, lines: Lines, owner: int, job: Job) -> None:
        self.lines = lines
        self.owner = owner
        self.job = job
        self.told = 0

    def tell(self, history: History) -> None:
        self._line(EventKind.JOB, None, self.job.submitted_us, _who(self.job))
        for wait in history.waits:
            span = Span(Phase.QUEUE, wait.begin_us, wait.end_us)
            self._span(wait.number, span, None, 0)
        for attempt in history.attempts:
            self._attempt(attempt)

    def _attempt(self, attempt: Attempt) -> None:
        number = attempt.number
        if attempt.granted_us is not None:
            host = f',"host":"gpu{(attempt.granted_us // 1000) % 900:04d}"'
            told = f',"gpus":{attempt.gpus},"allocation_id":"{_marked(attempt.allocation)}"{host}'
            self._line(EventKind.ATTEMPT_START, number, attempt.granted_us, told)
        for span in attempt.spans:
            self._on_all_ranks(number, span)
        rank = ',"rank":0' if self.job.rank_delays_us else ""
        for each in attempt.progress:
            samples = each.step * self.job.samples_per_step
            told = f',"step":{each.step},"samples":{samples}{rank}'
            self._line(EventKind.PROGRESS, number, each.at_us, told)
        for at in attempt.alive_us:
            self._line(EventKind.ALIVE, number, at, "")
        if attempt.is_end_told:
            self._end(attempt)

    def _on_all_ranks(self, number: int, span: Span) -> None:
        delays = self.job.rank_delays_us
        if not delays or span.phase in TOLD_ONCE:
            self._span(number, span, 0 if delays else None, 0)
            return
        for rank, delay in enumerate(delays):
            self._span(number, span, rank, delay)

    def _span(self, number: int, span: Span, rank: int | None, delay: int) -> None:
        """One complete line, or a start and an end; what has no end is a start alone."""
        name = f',"phase":"{span.phase}"'
        if span.stage is not None:
            name += f',"stage":"{span.stage}"'
        if rank is not None:
            name += f',"rank":{rank}'
        start, end = _start_words(span), _end_words(span)
        step = "" if span.step is None else f',"step":{span.step}'
        begin = span.begin_us + delay
        if span.end_us is None:
            self._line(EventKind.PHASE_START, number, begin, name + step + start)
        elif self.job.tells_pairs or span.phase is Phase.TRAINING:
            self._line(EventKind.PHASE_START, number, begin, name + step + start)
            self._line(EventKind.PHASE_END, number, span.end_us + delay, name + step + end)
        else:
            told = name + step + start + end
            self._line(EventKind.PHASE_START, number, begin, told, span.end_us + delay)

    def _end(self, attempt: Attempt) -> None:
        at = attempt.failed_us
        if attempt.cause is not None:
            self._failure(attempt.number, at, attempt.cause, attempt)
        if attempt.echo is not None:
            later = min(attempt.ends_us, at + 850_000)
            self._failure(attempt.number, later, attempt.echo, None)
        told = f',"outcome":"{attempt.outcome}"'
        if attempt.cause is not None:
            told += f',"exit_code":{attempt.cause.exit_code}'
            if attempt.cause.signal is not None:
                told += f',"signal":{attempt.cause.signal}'
        elif attempt.outcome == "completed":
            told += ',"exit_code":0'
        if attempt.preempted_by is not None:
            told += f',"preempted_by":"{_preemptor(attempt.preempted_by)}"'
            told += ',"message":"preempted by higher-priority work"'
        self._line(EventKind.ATTEMPT_END, attempt.number, attempt.ends_us, told)

    def _failure(self, number: int, at: int, cause: Cause, known: Attempt | None) -> None:
        """One in eight initiating failures names its category; the others only have a message."""
        told = f',"message":{json.dumps(cause.message)},"component":"{cause.component}"'
        if self.job.rank_delays_us:
            told += ',"rank":0'
        if known is not None and at // 1000 % 8 == 0 and cause.category != "unknown/unclassified":
            told += f',"category":"{cause.category}"'
        self._line(EventKind.FAILURE, number, at, told)

    def _line(
        self, kind: EventKind, number: int | None, at: int, told: str, until: int = 0
    ) -> None:
        attempt = "" if number is None else f',"attempt":{number}'
        event_id = ""
        if self.job.tells_event_ids:
            self.told += 1
            event_id = f',"event_id":"{self.told}"'
        tail = f',"event":"{kind}","job_id":"{_marked(self.job.id)}"{attempt}{event_id}{told}}}'
        self.lines.add(at, self.owner, tail, until)


def _who(job: Job) -> str:
    told = {
        "team": job.team.name,
        "user": job.user,
        "workload": job.workload,
        "model": job.model,
        "cluster": "east-1",
        "gpus": job.gpus,
        "gpu_type": job.gpu_type,
        "priority": PRIORITIES[job.rank_of_priority],
    }
    return "," + json.dumps(told, separators=(",", ":"), ensure_ascii=False)[1:-1]


def _start_words(span: Span) -> str:
    """What is known when it begins."""
    told = "" if span.mode is None else f',"mode":"{span.mode}"'
    if span.resumed_from is not None:
        told += f',"resumed_from_step":{span.resumed_from}'
    return told


def _end_words(span: Span) -> str:
    """What is known only when it is over."""
    told = "" if span.cache is None else f',"cache":"{span.cache}"'
    if span.recompiles is not None:
        told += f',"recompiles":{span.recompiles}'
    if span.phase in (Phase.CHECKPOINT_SAVE, Phase.CHECKPOINT_UPLOAD):
        told += f',"ok":{"true" if span.is_ok else "false"}'
    return told


def _marked(identity: str) -> str:
    """A job's id, or one that begins with it, with the place of a clone's suffix in it."""
    job_id, slash, rest = identity.partition("/")
    return f"{job_id}{MARK}{slash}{rest}"


def _preemptor(by: str) -> str:
    return by if by.startswith("reservation-") else by + MARK
