"""The records of nv-one-logger's JSON lines: spans that start, stop or are complete, events and
errors inside them. Knows no job and makes no events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from ingest.collectors.json_values import (
    LONGEST_ID,
    Fields,
    instant_us,
    objects_in,
    part,
    text,
    whole,
)
from ingest.collectors.units import MILLISECOND_US
from ingest.events import Reason, Rejected

_OPENING = re.compile(r'\{\s*"type"\s*:\s*"')
# spans of every single iteration, of which no phase is made
FINE_SPANS = frozenset(
    [
        "training_single_iteration",
        "validation_single_iteration",
        "testing_single_iteration",
        "TESTING_SINGLE_ITERATION",
        "model_forward",
        "zero_grad",
        "model_backward",
        "optimizer_update",
    ]
)
_FINE = re.compile(
    rb'\{\s*"type"\s*:\s*"(?:start|stop|complete)"\s*,\s*"id"\s*:\s*"[^"\\]*"\s*,'
    rb'\s*"name"\s*:\s*"(?:%s)"' % "|".join(sorted(FINE_SPANS)).encode()
)


class Kind(StrEnum):
    """What a record is."""

    START = "start"
    STOP = "stop"
    COMPLETE = "complete"
    EVENT = "event"
    ERROR = "application_error"


_KINDS = tuple(Kind)
_ENDS = {
    Kind.START: ("start_event",),
    Kind.STOP: ("stop_event",),
    Kind.COMPLETE: ("start_event", "stop_event"),
}


class Record(msgspec.Struct, frozen=True):
    """One record. `name` is that of the span, or of the event; `until_us` the end of a complete
    span; `said` its attributes. `count` numbers the records of a process.
    """

    line_number: int
    line: bytes
    kind: Kind
    span_id: str
    name: str
    at_us: int
    until_us: int | None
    said: Mapping[str, Any]
    pid: int | None
    count: int | None


def records_in(number: int, line: bytes) -> Iterator[Record | Rejected]:
    """The records of one line; a line of another kind has none."""
    marks = line.count(b'"type"')
    if not marks or (marks == 1 and _FINE.search(line)):
        return
    for fields in objects_in(number, line, _OPENING):
        if isinstance(fields, Rejected):
            yield fields
        elif fields.get("type") in _KINDS and ("pid" in fields or "count" in fields):
            record = _record(number, line, fields)
            if isinstance(record, tuple):
                yield Rejected(number, *record, line.decode(errors="replace"))
            elif record.name not in FINE_SPANS or record.kind in (Kind.EVENT, Kind.ERROR):
                yield record


def _record(number: int, line: bytes, fields: Fields) -> Record | tuple[Reason, str]:
    kind = Kind(fields["type"])
    is_event = kind in (Kind.EVENT, Kind.ERROR)
    event = part(fields, "event")
    span_id = text(fields.get("span_id" if is_event else "id"), LONGEST_ID)
    name = text((event if is_event else fields).get("name"), LONGEST_ID)
    if span_id is None or name is None:
        missing = "the id of its span" if span_id is None else "its name"
        return Reason.MISSING_FIELD, f"{kind} without {missing}"
    instants = []
    for end in _ENDS.get(kind, ("event",)):
        told = part(part(fields, end), "attributes").get("timestamp_msec")
        at_us = instant_us(told, MILLISECOND_US)
        if at_us is None:
            return Reason.BAD_TIMESTAMP, f"timestamp_msec of {end} is {told!r}"[:200]
        instants.append(at_us)
    return Record(
        number,
        line,
        kind,
        span_id,
        name,
        instants[0],
        instants[1] if kind == Kind.COMPLETE else None,
        part(event if is_event else fields, "attributes"),
        whole(fields.get("pid")),
        whole(fields.get("count")),
    )
