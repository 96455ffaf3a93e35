"""What the events of one dump tell of failures, attempt by attempt, judged by the rules.

One dump alone: the warehouse joins several, and its choice is made in queries/losses. Plain text
has no events; `ingest.causes.weighed` reads that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import polars as pl

from ingest import causes
from ingest.causes_rules import INFORMATIONAL_RANK, RuleBook
from ingest.collectors.base import Dump, Reading
from ingest.events import Event, EventKind, Outcome, Rejected
from ingest.formats import Format

SAID = "(the dump says so)"
_SAID_RANK = 0

_IDENTITY = ("job_id", "attempt", "row_key", "run_key", "run_generation")
_NAMES = {
    "job_id": "job", "attempt": "attempt", "row_key": "row", "run_key": "launch",
    "run_generation": "generation",
}  # fmt: skip
_EVIDENCE = {
    "message": pl.String(),
    "exit_code": pl.Int64(),
    "signal": pl.Int64(),
    "attrs": pl.String(),
}
_OF_OUTCOME = {
    Outcome.PREEMPTED.value: "scheduler/preempted",
    Outcome.TIMEOUT.value: "scheduler/time_limit",
}
_ENDED_WELL = frozenset({Outcome.COMPLETED.value, Outcome.CANCELLED.value})
_REQUEUED = "scheduler/requeued"  # that it was put back in the queue does not say why

_Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one rule found in an attempt: the first event of its best, and how many there are.

    `rank` orders them, the least is the root; 99 is none. `line` is null where it is not told.
    """

    category: str
    rule: str
    rank: int
    evidence: str
    line: int | None
    at_us: int
    events: int = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why an attempt ended: its evidence from the root on; none if no rule knows what was told.

    `told`: what was told all the same. Not `is_numbered`: it may be several attempts, which only
    the warehouse tells apart, by their times.
    """

    attempt: str
    is_numbered: bool
    pieces: tuple[Piece, ...]
    told: str


def verdicts(dump: Dump, format: Format, reading: Reading, book: RuleBook) -> list[Verdict]:
    """The interrupted attempts of a dump in the order in which it tells of them."""
    told = list(_evidence(_events(dump, format, reading)))
    frame = pl.DataFrame(
        [[_plain(event.get(name)) for name in _EVIDENCE] for event in told],
        schema=_EVIDENCE,
        orient="row",
    )
    judged = causes.classify_frame(frame, book).select(list(causes.COLUMNS))
    attempts: dict[_Identity, list[tuple[Event, Piece | None]]] = {}
    for event, row in zip(told, judged.iter_rows(), strict=True):
        attempts.setdefault(_identity(event), []).append((event, _piece(event, *row)))
    return [
        _verdict(identity, pieces)
        for identity, pieces in attempts.items()
        if not _ended_well([event for event, _ in pieces])
    ]


def _events(dump: Dump, format: Format, reading: Reading) -> Iterator[Event | Rejected]:
    if format.collector is not None:
        yield from format.collector.read(dump, reading)
        return
    for number, line in dump.lines():
        if b'"failure"' in line or b'"attempt_end"' in line:
            yield from _native(number, line)


def _native(line_number: int, line: bytes) -> Iterator[Event]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(row, dict) or not isinstance(row.get("event"), str):
        return
    event: Event = {
        "at_us": 0,
        "event": row["event"],
        "attempt": 1,
        "attrs": json.dumps({"line": line_number}),
    }
    for text in ("job_id", "message", "category", "outcome"):
        if isinstance(row.get(text), str):
            event[text] = row[text]
    for number in ("attempt", "exit_code", "signal"):
        if type(row.get(number)) is int and abs(row[number]) < 2**63:
            event[number] = row[number]
    yield event


def _evidence(events: Iterable[Event | Rejected]) -> Iterator[Event]:
    for event in events:
        if not isinstance(event, Rejected) and event["event"] in (
            EventKind.FAILURE,
            EventKind.ATTEMPT_END,
        ):
            yield event


def _plain(value: object) -> object:
    """A text as the engine takes it: half characters become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _identity(event: Event) -> _Identity:
    return tuple(event.get(name) for name in _IDENTITY)


def _piece(
    event: Event,
    category: str | None,
    rule: str | None,
    rank: int | None,
    evidence: str | None,
    line: int | None,
) -> Piece | None:
    said = event.get("category")
    if said is None and event["event"] == EventKind.ATTEMPT_END:
        said = _OF_OUTCOME.get(str(event.get("outcome")))
    shown = evidence or str(_plain(event.get("message", "")))[:500]
    if said is not None and (said != _REQUEUED or category is None):
        return Piece(said, SAID, _SAID_RANK, shown, line or _line(event), event["at_us"])
    if rule is None or rank is None or category is None:
        return None
    return Piece(category, rule, rank, shown, line, event["at_us"])


def _line(event: Event) -> int | None:
    line = json.loads(event.get("attrs", "{}")).get("line")
    return line if isinstance(line, int) else None


def _ended_well(events: list[Event]) -> bool:
    """Whether an attempt was not interrupted, as far as this dump tells: the last end counts."""
    ends = [event for event in events if event["event"] == EventKind.ATTEMPT_END]
    if not ends:
        return False
    last = max(ends, key=lambda event: event["at_us"])
    if "outcome" in last:
        return last["outcome"] in _ENDED_WELL
    return last.get("exit_code") == 0


def _verdict(identity: _Identity, told: list[tuple[Event, Piece | None]]) -> Verdict:
    name = ", ".join(
        f"{_NAMES[key]} {value}"
        for key, value in zip(_IDENTITY, identity, strict=True)
        if value is not None
    )
    pieces = sorted(
        (piece for _, piece in told if piece is not None and piece.rank < INFORMATIONAL_RANK),
        key=lambda piece: (piece.rank, piece.at_us, piece.line or 0),
    )
    of_rule: dict[tuple[str, str], Piece] = {}
    for piece in pieces:
        first = of_rule.get((piece.category, piece.rule), replace(piece, events=0))
        of_rule[piece.category, piece.rule] = replace(first, events=first.events + 1)
    return Verdict(
        name or "the attempt",
        any(value is not None for value in identity[1:]),
        tuple(of_rule.values()),
        next((words for event, _ in told if (words := _in_words(event))), "nothing"),
    )


def _in_words(event: Event) -> str:
    if event.get("message"):
        return str(_plain(event["message"]))
    numbers = [
        f"{name.replace('_', ' ')} {event[name]}"
        for name in ("exit_code", "signal")
        if event.get(name) is not None
    ]
    return ", ".join(numbers)
