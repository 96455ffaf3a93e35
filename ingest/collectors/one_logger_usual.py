"""Records of nv-one-logger as its exporter writes them: one a line, with every field in its place.

What is not so is left to `one_logger_records`, which says what else there may be on a line.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ingest.collectors.json_values import (
    EARLIEST_US,
    LATEST_US,
    LONGEST_ID,
    MOST_WHOLE,
    instant_us,
)
from ingest.collectors.one_logger_records import FINE_SPANS, MILLISECOND_US, Kind, Record

_Whole = Annotated[int, msgspec.Meta(ge=0, le=MOST_WHOLE)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
_Instant = Annotated[
    int, msgspec.Meta(ge=EARLIEST_US // MILLISECOND_US, lt=LATEST_US // MILLISECOND_US)
]


class _Stamp(msgspec.Struct):
    timestamp_msec: _Instant


class _Mark(msgspec.Struct):
    attributes: _Stamp


class _Word(msgspec.Struct):
    name: _Text
    attributes: dict[str, Any]


class _Record(msgspec.Struct, tag_field="type"):
    pid: _Whole
    count: _Whole


class _Start(_Record, tag="start"):
    id: _Text
    name: _Text
    start_event: _Mark
    attributes: dict[str, Any] = {}


class _Stop(_Record, tag="stop"):
    id: _Text
    name: _Text
    stop_event: _Mark
    attributes: dict[str, Any] = {}


class _Complete(_Record, tag="complete"):
    id: _Text
    name: _Text
    start_event: _Mark
    stop_event: _Mark
    attributes: dict[str, Any] = {}


class _Event(_Record, tag="event"):
    span_id: _Text
    event: _Word


_DECODER = msgspec.json.Decoder(_Start | _Stop | _Complete | _Event)


def usual_record(number: int, line: bytes) -> Record | None:
    """The record that a line is; None: it is none, or an unusual one."""
    if FINE_SPANS.search(line):
        return None
    try:
        told = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    pid, count = told.pid, told.count
    kind = type(told)
    if kind is _Event:
        word = told.event
        at_us = instant_us(word.attributes.get("timestamp_msec"), MILLISECOND_US)
        if at_us is None:
            return None
        name, said = word.name, word.attributes
        return Record(number, line, Kind.EVENT, told.span_id, name, at_us, None, said, pid, count)
    span, name, said = told.id, told.name, told.attributes
    if kind is _Stop:
        at_us = told.stop_event.attributes.timestamp_msec * MILLISECOND_US
        return Record(number, line, Kind.STOP, span, name, at_us, None, said, pid, count)
    at_us = told.start_event.attributes.timestamp_msec * MILLISECOND_US
    if kind is _Start:
        return Record(number, line, Kind.START, span, name, at_us, None, said, pid, count)
    until_us = told.stop_event.attributes.timestamp_msec * MILLISECOND_US
    return Record(number, line, Kind.COMPLETE, span, name, at_us, until_us, said, pid, count)
