"""OpenTelemetry spans and log records as OTLP's JSON lines: phases by the names of spans, progress,
exceptions. A span is exported when it is over, so what a kill cut off is told by records only.

`docs/sources/otlp.md` says which names and attributes are read.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.json_values import objects_in
from ingest.collectors.otlp_events import (
    events_of_moment,
    events_of_span,
    is_of_trainer,
    unknown_outcome,
    unknown_phase,
)
from ingest.collectors.otlp_names import span_meaning
from ingest.collectors.otlp_resource import Who
from ingest.collectors.otlp_values import Broken, Moment, Seen, Span, resources
from ingest.errors import UnreadableDump
from ingest.events import Event, EventKind, Reason, Rejected, Says

_SIGN = re.compile(rb"\{\s*\"resource_?(?:[Ss]pans|[Ll]ogs)\"\s*:\s*\[")
_BATCH = re.compile(r'\{\s*"resource_?(?:[Ss]pans|[Ll]ogs)"')
_PHASE = b'"ett.phase"'  # the attribute that makes any span a phase
_OUTCOME = b'"ett.outcome"'
_MARKS = (b'"resourceSpans"', b'"resourceLogs"', b'"resource_spans"', b'"resource_logs"')
_MOST_REMEMBERED = 4_096  # resources, exceptions, and what resources told that are no trainers yet
_WITH_EVIDENCE = (EventKind.FAILURE, EventKind.ATTEMPT_END)
_OF_ONE_LAUNCH = ("attempt", "run_key", "run_generation", "run_restart", "scheduler_job")
_OF_ONE_PROCESS = ("job_id", "attempt", "run_key", "run_generation", "run_restart", "rank")
_SAME_US = 60_000_000  # an exception that passes through several spans is recorded by each
_LONGEST_LINE_KEPT = 2_000  # bytes


def recognises(_name: str, head: bytes) -> bool:
    """Whether some line begins a batch of spans or of log records."""
    return _SIGN.search(head) is not None


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events and set-aside lines in file order. Raises UnreadableDump if no span or record is of a
    trainer.
    """
    reader = _Reader(reading.cluster)
    is_told = has_batch = False
    for number, line in dump.lines():
        if not any(mark in line for mark in _MARKS):
            continue
        for batch in objects_in(number, line, _BATCH):
            has_batch = True
            told = [batch] if isinstance(batch, Rejected) else reader.events(number, line, batch)
            for item in told:
                is_told = True
                yield item
    if not has_batch:
        raise UnreadableDump(
            f"{dump.name} holds no batch of spans or records that stands on one line. "
            "Put each on a line of its own: jq -c . FILE > otlp.jsonl"
        )
    if not is_told:
        raise UnreadableDump(
            f"{dump.name} holds no span that is named like a phase of training, and no attribute "
            "that begins with ett. See docs/sources/otlp.md for the names."
        )


class _Told(NamedTuple):
    """A span or record, and the line that it stands in."""

    number: int
    shown: str
    item: Span | Moment | Seen | Broken


class _Reader:
    """Makes events of batches. Remembers which resources are of trainers, what others told that may
    prove to be, what it has told of their jobs, and the last exceptions; forgets the oldest.
    """

    def __init__(self, cluster: str | None) -> None:
        self._cluster = cluster
        self._trainers: OrderedDict[str, None] = OrderedDict()
        self._held: OrderedDict[str, list[_Told]] = OrderedDict()
        self._most_held = _MOST_REMEMBERED
        self._jobs: OrderedDict[str, None] = OrderedDict()
        self._exceptions: OrderedDict[tuple[object, ...], int] = OrderedDict()

    def events(self, number: int, line: bytes, batch: dict[str, Any]) -> Iterator[Event | Rejected]:
        """What one line tells; what cannot be read of it is set aside. A resource is a trainer's if
        it says so, or if one of its items does.
        """
        shown = line[:_LONGEST_LINE_KEPT].decode(errors="replace")
        names_phases, names_outcomes = _PHASE in line, _OUTCOME in line
        for resource, items in resources(batch, _anything if names_phases else _is_known):
            who = Who(resource, self._cluster)
            seen_us = told_us = 0
            for number_of, shown_of, item in self._of_trainer(
                who, (_Told(number, shown, item) for item in items)
            ):
                if isinstance(item, Seen):
                    seen_us = max(seen_us, item.at_us)
                    continue
                if isinstance(item, Broken):
                    detail = f"{item.name or 'a span'}: {item.why}"
                    yield Rejected(number_of, Reason.BAD_TIMESTAMP, detail, shown_of)
                    continue
                if "job_id" not in who.of_launch:
                    detail = "the resource names no job: give it the attribute ett.job_id"
                    yield Rejected(number_of, Reason.MISSING_FIELD, detail, shown_of)
                    break
                seen_us = max(seen_us, item.end_us if isinstance(item, Span) else item.at_us)
                if names_phases and (phase := unknown_phase(item)) is not None:
                    detail = f"{item.name}: phase {phase[:80]!r} is not known"
                    yield Rejected(number_of, Reason.UNKNOWN_PHASE, detail, shown_of)
                    continue
                if names_outcomes and (outcome := unknown_outcome(item)) is not None:
                    detail = f"{item.name}: outcome {outcome[:80]!r} is not known"
                    yield Rejected(number_of, Reason.BAD_VALUE, detail, shown_of)
                    continue
                if not told_us:
                    yield from self._job(who, item)
                for event in self._events(number_of, who, item):
                    told_us = max(told_us, event.get("end_us", event["at_us"]))
                    yield event
            if seen_us > told_us and "job_id" in who.of_launch:
                yield {**who.of_launch, "at_us": seen_us, "event": EventKind.ALIVE}

    def _of_trainer(self, who: Who, told: Iterator[_Told]) -> Iterator[_Told]:
        """What a trainer tells, with what it told before it could be known to be one."""
        key = repr(who.of_launch)
        is_trainers = who.is_trainer or key in self._trainers
        for one in told:
            if not is_trainers:
                is_trainers = isinstance(one.item, Span | Moment) and is_of_trainer(one.item)
                if not is_trainers:
                    self._hold(key, one)
                    continue
                _remember(self._trainers, key)
                yield from self._release(key)
            yield one

    def _hold(self, key: str, one: _Told) -> None:
        self._held.setdefault(key, []).append(one)
        self._most_held -= 1
        while self._most_held < 0:
            self._release(next(iter(self._held)))

    def _release(self, key: str) -> list[_Told]:
        told = self._held.pop(key, [])
        self._most_held += len(told)
        return told

    def _events(self, number: int, who: Who, item: Span | Moment) -> Iterator[Event]:
        told = events_of_span(item) if isinstance(item, Span) else events_of_moment(item)
        for event in told:
            event = {**who.of_launch, **event}
            if "event_id" in event and who.process:
                # ids of spans come from the generator that trainers seed, all ranks alike
                event["event_id"] = f"{event['event_id']}/{who.process}"
            if event["event"] == EventKind.FAILURE and not self._is_news(event):
                continue
            if event["event"] in _WITH_EVIDENCE:
                event["attrs"] = json.dumps({"line": number})
            yield event

    def _job(self, who: Who, item: Span | Moment) -> Iterator[Event]:
        # of each launch: what a scheduler says of a later one would be newer than the first word
        launch = [who.of_launch.get(name) for name in _OF_ONE_LAUNCH]
        key = repr((sorted(who.of_job.items()), launch))
        if len(who.of_job) > 1 and _remember(self._jobs, key):
            at_us = item.start_us if isinstance(item, Span) else item.at_us
            job: Event = {"at_us": at_us, "event": EventKind.JOB, **who.of_job}
            if "scheduler_job" in who.of_launch:
                job["scheduler_job"] = who.of_launch["scheduler_job"]
            yield job

    def _is_news(self, failure: Event) -> bool:
        first_line = failure["message"].partition("\n")[0]
        key = (first_line, *(failure.get(field) for field in _OF_ONE_PROCESS))
        before_us = self._exceptions.get(key)
        self._exceptions.pop(key, None)
        self._exceptions[key] = failure["at_us"]
        if len(self._exceptions) > _MOST_REMEMBERED:
            self._exceptions.popitem(last=False)
        return before_us is None or abs(failure["at_us"] - before_us) > _SAME_US


def _is_known(name: str) -> bool:
    return span_meaning(name) is not None


def _anything(_name: str) -> bool:
    return True


def _remember(known: OrderedDict[str, None], key: str) -> bool:
    """Whether it was not known."""
    is_new = key not in known
    known[key] = None
    if len(known) > _MOST_REMEMBERED:
        known.popitem(last=False)
    return is_new


OTLP = Collector(
    name="otlp",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
)
