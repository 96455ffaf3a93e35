"""Dumps as accidents leave them, and what every reader must hold to when it meets one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from zoneinfo import ZoneInfo

import polars as pl
from hypothesis import strategies as st

from ingest.collectors.base import Collector, Dump, Line, Reading
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected
from ingest.text import COLUMNS

READING = Reading(None, ZoneInfo("UTC"))

_VALUE = re.compile(rb'(?<=:)\s*(?:"(?:[^"\\]|\\.)*"|-?[\d.]+(?:[eE][+-]?\d+)?|true|false|null)')
_STRANGE = (
    *(b"NaN", b"-Infinity", b"1e999", b"9" * 30, b"9" * 5_000, b"-1", b"1.5", b"0", b"true"),
    *(b"null", b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b"[]", b"{}", b"[1]", b'{"number": {}}'),
    *(b"[" * 2_000, b'"' + b"y" * 5_000 + b'"', b'"2026-11-20T05:00:00"', b'"\xc3\xa9"', b"\xff"),
)
_FOREIGN = (
    b"[rank3]: Traceback (most recent call last):",
    b"JobID|State|Start|End",
    b'{"ts": 1795150800, "event": "alive", "job_id": "other"}',
    b"\x1b[32m 10%|#         | 1/10\r 20%|##        | 2/10\x1b[0m",
    b"",
)

Mutation = Callable[[list[bytes]], list[bytes]]


def mutations(most: int = 6) -> st.SearchStrategy[list[Mutation]]:
    """A few accidents, one after another."""
    place = st.integers(0, 10_000)
    return st.lists(
        st.one_of(
            st.builds(_with_value, place, place, st.sampled_from(_STRANGE)),
            st.builds(_without_bytes, place, place, st.integers(1, 200)),
            st.builds(_torn_together, place, place),
            st.builds(_with_foreign_line, place, st.sampled_from(_FOREIGN)),
            st.builds(_moved, place, place),
            st.builds(_twice, place),
            st.builds(_cut_short, place, place),
        ),
        min_size=1,
        max_size=most,
    )


def applied(mutations: Sequence[Mutation], lines: Sequence[bytes]) -> list[bytes]:
    """The lines after all accidents."""
    broken = list(lines)
    for mutation in mutations:
        broken = mutation(broken) if broken else broken
    return broken


def read(collector: Collector, lines: Sequence[bytes]) -> list[Event | Rejected]:
    """What a collector makes of lines; nothing where it says that it can read none."""
    try:
        return list(collector.read(dump_of(lines), READING))
    except UnreadableDump:
        return []


def dump_of(lines: Sequence[bytes]) -> Dump:
    def numbered() -> Iterator[Line]:
        return iter(enumerate(lines, 1))

    return Dump("made", None, numbered)


def loadable(told: Sequence[Event | Rejected]) -> int:
    """How many events there are; raises if one of them does not fit the loader's columns."""
    events = [item for item in told if not isinstance(item, Rejected)]
    for item in told:
        if isinstance(item, Rejected):
            (item.detail + item.line).encode()
    assert all(event.keys() <= COLUMNS.keys() and event["job_id"] for event in events)
    return pl.from_dicts(events, schema=COLUMNS).height if events else 0


def _with_value(line: int, value: int, strange: bytes) -> Mutation:
    def mutate(lines: list[bytes]) -> list[bytes]:
        at = line % len(lines)
        found = list(_VALUE.finditer(lines[at]))
        if found:
            one = found[value % len(found)]
            lines[at] = lines[at][: one.start()] + strange + lines[at][one.end() :]
        return lines

    return mutate


def _without_bytes(line: int, start: int, length: int) -> Mutation:
    def mutate(lines: list[bytes]) -> list[bytes]:
        at = line % len(lines)
        begun = start % (len(lines[at]) + 1)
        lines[at] = lines[at][:begun] + lines[at][begun + length :]
        return lines

    return mutate


def _torn_together(line: int, start: int) -> Mutation:
    def mutate(lines: list[bytes]) -> list[bytes]:
        at = line % len(lines)
        begun = start % (len(lines[at]) + 1)
        lines[at : at + 2] = [lines[at][:begun] + b"".join(lines[at + 1 : at + 2])]
        return lines

    return mutate


def _with_foreign_line(line: int, foreign: bytes) -> Mutation:
    return lambda lines: [*lines[: line % len(lines)], foreign, *lines[line % len(lines) :]]


def _moved(source: int, target: int) -> Mutation:
    def mutate(lines: list[bytes]) -> list[bytes]:
        moved = lines.pop(source % len(lines))
        lines.insert(target % (len(lines) + 1), moved)
        return lines

    return mutate


def _twice(line: int) -> Mutation:
    return lambda lines: [
        *lines[: line % len(lines)],
        *lines[line % len(lines) :][:1],
        *lines[line % len(lines) :],
    ]


def _cut_short(line: int, byte: int) -> Mutation:
    def mutate(lines: list[bytes]) -> list[bytes]:
        at = line % len(lines)
        return [*lines[:at], lines[at][: byte % (len(lines[at]) + 1)]]

    return mutate
