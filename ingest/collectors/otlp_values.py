"""OTLP's JSON as plain values: attributes, times, spans, log records, whichever of the encodings in
use wrote it. Knows no phases and makes no events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ingest.collectors.json_values import MOST_WHOLE
from ingest.collectors.units import EARLIEST, LATEST

Attributes = dict[str, object]

_MICROSECOND_NS = 1_000
_EARLIEST_NS, _LATEST_NS = EARLIEST * 10**9, LATEST * 10**9
_ERROR = (2, "2", "STATUS_CODE_ERROR", "ERROR")
_SEVERITIES = {"ERROR": 17, "FATAL": 21, "FATAL2": 22, "FATAL3": 23, "FATAL4": 24}
_MOST_DIGITS = 20
_WHOLE = re.compile(r"-?\d+")
_OF_SPANS = ("scopeSpans", "spans")
_OF_LOGS = ("scopeLogs", "logRecords")
_PLAIN = ("stringValue", "boolValue", "doubleValue", "string_value", "bool_value", "double_value")
_NUMBERS = ("intValue", "int_value")
_NESTED = ("arrayValue", "kvlistValue", "bytesValue", "array_value", "kvlist_value", "bytes_value")


class Moment(NamedTuple):
    """Something at one time: a span's event, or a log record."""

    at_us: int
    name: str
    attributes: Attributes
    span_id: str | None
    severity: int
    body: str | None


class Span(NamedTuple):
    """A span that is over."""

    start_us: int
    end_us: int
    name: str
    span_id: str | None
    attributes: Attributes
    is_error: bool
    status: str | None
    events: list[Moment]


class Seen(NamedTuple):
    """A span that means nothing to us: it ended."""

    at_us: int


class Broken(NamedTuple):
    """What cannot be a span or a record: which, and why."""

    name: str
    why: str


def resources(
    batch: dict[str, Any], is_wanted: Callable[[str], bool]
) -> Iterator[tuple[Attributes, Iterator[Span | Moment | Seen | Broken]]]:
    """The resources of one exported batch, each with its spans and its log records. Of spans with
    another name than one that is wanted only their end is read.
    """
    for told in _objects(_get(batch, "resourceSpans")):
        yield _resource(told), (_span(span, is_wanted) for span in _items(told, *_OF_SPANS))
    for told in _objects(_get(batch, "resourceLogs")):
        yield _resource(told), (_record(record) for record in _items(told, *_OF_LOGS))


def _resource(told: dict[str, Any]) -> Attributes:
    return attributes(_get(_object(_get(told, "resource")), "attributes"))


def _items(told: dict[str, Any], scopes: str, items: str) -> Iterator[dict[str, Any]]:
    return (item for scope in _objects(_get(told, scopes)) for item in _objects(_get(scope, items)))


def attributes(told: object) -> Attributes:
    """Attributes by key; some encoders write a list of pairs, others an object."""
    if isinstance(told, dict):
        return {key: _value(value) for key, value in told.items()}
    if not isinstance(told, list):
        return {}
    return {
        pair["key"]: _value(pair.get("value"))
        for pair in told
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def text(value: object) -> str | None:
    """A value as text that is not empty; numbers are written out."""
    if isinstance(value, str) and value.isascii() and "\0" not in value:
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    told = str(value).encode(errors="replace").decode().replace("\0", "").strip()
    return told or None


def whole(value: object, least: int = 0, most: int = MOST_WHOLE) -> int | None:
    """A whole number between the two, also where it is told as text."""
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and _WHOLE.fullmatch(value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return None
    return value


def _span(told: dict[str, Any], is_wanted: Callable[[str], bool]) -> Span | Seen | Broken:
    name = text(told.get("name")) or ""
    end_us = _time_us(_get(told, "endTimeUnixNano"))
    if end_us is not None and not is_wanted(name):
        return Seen(end_us)
    start_us = _time_us(_get(told, "startTimeUnixNano"))
    if start_us is None or end_us is None:
        return Broken(name, "its times are no nanoseconds since 1970")
    if end_us < start_us:
        return Broken(name, "it ends before it starts")
    status = _object(_get(told, "status"))
    return Span(
        start_us,
        end_us,
        name,
        text(_get(told, "spanId")),
        attributes(_get(told, "attributes")),
        _get(status, "code") in _ERROR,
        text(_get(status, "message")),
        [
            moment
            for event in _objects(_get(told, "events"))
            if (moment := _event(event, text(_get(told, "spanId")))) is not None
        ],
    )


def _event(told: dict[str, Any], span_id: str | None) -> Moment | None:
    at_us = _time_us(_get(told, "timeUnixNano"))
    if at_us is None:
        return None
    name = text(_get(told, "name")) or ""
    return Moment(at_us, name, attributes(_get(told, "attributes")), span_id, 0, None)


def _record(told: dict[str, Any]) -> Moment | Broken:
    told_attributes = attributes(_get(told, "attributes"))
    body = text(_value(_get(told, "body")))
    name = text(_get(told, "eventName")) or text(told_attributes.get("event.name")) or ""
    at_us = _time_us(_get(told, "timeUnixNano"))
    if at_us is None:
        at_us = _time_us(_get(told, "observedTimeUnixNano"))
    if at_us is None:
        return Broken(name or (body or "")[:80], "its time is no nanoseconds since 1970")
    severity = _get(told, "severityNumber")
    if isinstance(severity, str):
        severity = _SEVERITIES.get(severity.removeprefix("SEVERITY_NUMBER_"), severity)
    return Moment(
        at_us, name, told_attributes, text(_get(told, "spanId")), whole(severity) or 0, body
    )


def _value(told: object) -> object:
    """An AnyValue, or a value that an encoder wrote as it is."""
    if not isinstance(told, dict):
        return told
    for kind, value in told.items():
        if kind in _PLAIN:
            return value
        if kind in _NUMBERS:
            number = whole(value)
            return value if number is None else number
        if kind in _NESTED:
            return json.dumps(value, ensure_ascii=False)
    return None


def _time_us(told: object) -> int | None:
    nanoseconds = whole(told, _EARLIEST_NS, _LATEST_NS)
    return None if nanoseconds is None else nanoseconds // _MICROSECOND_NS


def _get(told: dict[str, Any], key: str) -> Any:
    """A field by its name in JSON, or by its name in protobuf."""
    value = told.get(key)
    return told.get(_SNAKE.get(key, key)) if value is None else value


_SNAKE = {
    "resourceSpans": "resource_spans",
    "resourceLogs": "resource_logs",
    "scopeSpans": "scope_spans",
    "scopeLogs": "scope_logs",
    "logRecords": "log_records",
    "spanId": "span_id",
    "startTimeUnixNano": "start_time_unix_nano",
    "endTimeUnixNano": "end_time_unix_nano",
    "timeUnixNano": "time_unix_nano",
    "observedTimeUnixNano": "observed_time_unix_nano",
    "severityNumber": "severity_number",
    "eventName": "event_name",
}


def _objects(told: object) -> Iterator[dict[str, Any]]:
    return (item for item in told if isinstance(item, dict)) if isinstance(told, list) else iter(())


def _object(told: object) -> dict[str, Any]:
    return told if isinstance(told, dict) else {}
