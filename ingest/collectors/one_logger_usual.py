"""Records of nv-one-logger as its exporter writes them: one a line, with every field in its place.

What is not so is left to `one_logger_records`, which says what else there may be on a line.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from ingest.collectors.json_values import LONGEST_ID, MOST_WHOLE, instant_us
from ingest.collectors.one_logger_records import Kind, Record
from ingest.collectors.units import EARLIEST_US, LATEST_US, MILLISECOND_US

_Whole = Annotated[int, msgspec.Meta(ge=0, le=MOST_WHOLE)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_ID)]
_Instant = Annotated[
    int, msgspec.Meta(ge=EARLIEST_US // MILLISECOND_US, lt=LATEST_US // MILLISECOND_US)
]


class _Stamp(msgspec.Struct):
    timestamp_msec: _Instant


class _Mark(msgspec.Struct):
    attributes: _Stamp


class _Said(msgspec.Struct):
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


class Complete(_Record, tag="complete"):
    """A span, told at its end."""

    id: _Text
    name: _Text
    start_event: _Mark
    stop_event: _Mark
    attributes: dict[str, Any] = {}


class Word(_Record, tag="event"):
    """An event inside a span."""

    span_id: _Text
    event: _Said


Usual = _Start | _Stop | Complete | Word

_DECODER = msgspec.json.Decoder(Usual)


def usual(line: bytes) -> Usual | None:
    """What is on a line that looks as usual. None: look closer."""
    try:
        told: Usual = _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None
    return told


def usual_record(number: int, line: bytes, told: Usual) -> Record | None:
    """The record that a line is; None: it is none, or an unusual one."""
    pid, count = told.pid, told.count
    if isinstance(told, Word):
        name, said = told.event.name, told.event.attributes
        at_us = instant_us(said.get("timestamp_msec"), MILLISECOND_US)
        if at_us is None:
            return None
        return Record(number, line, Kind.EVENT, told.span_id, name, at_us, None, said, pid, count)
    span, name, said = told.id, told.name, told.attributes
    if isinstance(told, _Stop):
        at_us = told.stop_event.attributes.timestamp_msec * MILLISECOND_US
        return Record(number, line, Kind.STOP, span, name, at_us, None, said, pid, count)
    at_us = told.start_event.attributes.timestamp_msec * MILLISECOND_US
    if isinstance(told, _Start):
        return Record(number, line, Kind.START, span, name, at_us, None, said, pid, count)
    until_us = told.stop_event.attributes.timestamp_msec * MILLISECOND_US
    return Record(number, line, Kind.COMPLETE, span, name, at_us, until_us, said, pid, count)
