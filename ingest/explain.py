"""Why a row of an `events` dump was set aside: its line, physical number and reason.

Only bad rows pass here, so that a dump with a few broken lines loads as fast as a clean one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ingest import fields
from ingest.dumps import BLOCK, LONGEST_LINE, KeyMarks
from ingest.events import Reason, Rejected

KEPT_CHARACTERS = 2_000

Positions = npt.NDArray[np.int64]

_BLANK = b" \t\n\v\f\r"
_TIME = re.compile(
    rf"\d{{4}}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|{fields.OFFSET})", re.ASCII
)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_ESCAPE = "\\u"
_BOM = "\ufeff"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FINER_UNITS = (("milliseconds", 10**3), ("microseconds", 10**6), ("nanoseconds", 10**9))


@dataclass(frozen=True, slots=True)
class BadLines:
    """Lines that are no events, each with what is wrong, and how many JSON keys all could hold."""

    rejected: list[Rejected]
    key_marks: int | None


def bad_lines(stream: BinaryIO, ordinals: list[int], latest_us: int) -> Iterator[BadLines]:
    """Find rows by their ordinals among non-blank lines (ascending, from 0), and what is wrong.

    Reads the stream once, and gives some lines at a time; only those asked for are decoded.
    """
    wanted = np.asarray(ordinals)
    number = ordinal = 0
    for block in _whole_lines(stream):
        starts, ends = _line_bounds(block)
        filled = _filled(block, starts, ends)
        counted = ordinal + np.cumsum(filled) - 1
        first, last = np.searchsorted(wanted, (ordinal, counted[-1] + 1))
        places = np.searchsorted(counted, wanted[first:last]).tolist()
        lines = [block[starts[place] : ends[place]] for place in places]
        marks = KeyMarks()
        marks.count(b"".join(line + b"\n" for line in lines))
        rejected = [
            explain(number + place + 1, line, latest_us)
            for place, line in zip(places, lines, strict=True)
        ]
        yield BadLines(rejected, marks.found)
        number += len(starts)
        ordinal = int(counted[-1]) + 1


def explain(number: int, line: bytes, latest_us: int) -> Rejected:
    """Why a line cannot be an event: its reason of INTERFACES.md section 2, and a word on it."""
    reason, detail = _reason(line, latest_us)
    return Rejected(number, reason, detail, shown(line))


def shown(line: bytes) -> str:
    """The first characters of a line, as text whatever its bytes."""
    return line[: 4 * KEPT_CHARACTERS].decode("utf-8", "replace")[:KEPT_CHARACTERS]


def _whole_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The stream in blocks that end with a line end, the last one perhaps without."""
    while block := stream.read(BLOCK):
        yield block if block.endswith(b"\n") else block + stream.readline()


def _line_bounds(block: bytes) -> tuple[Positions, Positions]:
    breaks = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    if not block.endswith(b"\n"):
        breaks = np.append(breaks, len(block))
    return np.concatenate(([0], breaks[:-1] + 1)), breaks


def _filled(block: bytes, starts: Positions, ends: Positions) -> npt.NDArray[np.bool_]:
    """Which lines are not blank, as the JSON reader counts them."""
    filled = ends > starts
    first = np.frombuffer(block, dtype=np.uint8)[np.minimum(starts, len(block) - 1)]
    for index in np.flatnonzero(filled & np.isin(first, list(_BLANK))):
        filled[index] = bool(block[starts[index] : ends[index]].strip(_BLANK))
    return filled


def _reason(line: bytes, latest_us: int) -> tuple[Reason, str]:
    if len(line.rstrip(b"\r\n")) > LONGEST_LINE:
        return Reason.LINE_TOO_LONG, f"longer than {LONGEST_LINE:,} bytes"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Reason.NOT_UTF8, f"byte {error.start} is no UTF-8"
    if text.startswith(_BOM):
        return Reason.NOT_JSON, "a byte order mark stands before it"
    try:
        row = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        return Reason.NOT_JSON, str(error)
    if not isinstance(row, _Object):
        return Reason.NOT_JSON, "no JSON object"
    if _ESCAPE in text and _HALF_CHARACTER.search(json.dumps(row, ensure_ascii=False)):
        return Reason.NOT_JSON, "an escape such as \\ud800 is half a character"
    return _told_twice(row) or _fault(row, latest_us)


class _Object(dict[str, Any]):
    """A JSON object, with the keys that stand in it as often as they do."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.keys_told = [key for key, _ in pairs]


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


# a decoder of its own for each line would take as long as the line
_DECODER = json.JSONDecoder(object_pairs_hook=_Object, parse_constant=_no_number)


def _told_twice(row: _Object) -> tuple[Reason, str] | None:
    """Which value of a field that stands there twice is meant, nobody knows."""
    if len(row.keys_told) == len(row):
        return None
    times = Counter(row.keys_told)
    twice = next((field for field in fields.FIELDS if times[field] > 1), None)
    return None if twice is None else (Reason.BAD_VALUE, f"{twice} stands there more than once")


def _fault(row: dict[str, Any], latest_us: int) -> tuple[Reason, str]:
    row = {key: value for key, value in row.items() if value is not None}
    for check in (_missing, _unknown, _bad_time, _bad_value):
        if fault := check(row, latest_us):
            return fault
    return Reason.BAD_VALUE, "the line cannot be read as an event"


def _missing(row: dict[str, Any], _: int) -> tuple[Reason, str] | None:
    needed = ["event", "ts"]
    if row.get("event") != "change":
        needed.append("job_id")
    if row.get("event") in ("phase_start", "phase_end"):
        needed.append("phase")
    for field in needed:
        if field not in row:
            return Reason.MISSING_FIELD, f"{field} is missing"
    return None


def _unknown(row: dict[str, Any], _: int) -> tuple[Reason, str] | None:
    if row["event"] not in fields.KINDS:
        return Reason.UNKNOWN_EVENT, f"event {_quoted(row['event'])} is not known"
    if "phase" in row and row["phase"] not in fields.PHASES:
        return Reason.UNKNOWN_PHASE, f"phase {_quoted(row['phase'])} is not known"
    return None


def _bad_time(row: dict[str, Any], latest_us: int) -> tuple[Reason, str] | None:
    for field in ("ts", "end_ts"):
        if field in row and (fault := _time_fault(field, row[field], latest_us)):
            return fault
    return None


def _time_fault(field: str, value: Any, latest_us: int) -> tuple[Reason, str] | None:
    us = _microseconds(value)
    if us is None:
        if isinstance(value, str) and _reads_without_offset(value):
            return Reason.NO_TIME_ZONE, f"{field} {_quoted(value)} has no offset from UTC"
        return (
            Reason.BAD_TIMESTAMP,
            f"{field} {_quoted(value)} is no time such as 2026-03-01T00:00:00Z",
        )
    if us < fields.EARLIEST_US:
        return Reason.BAD_TIMESTAMP, f"{field} {_quoted(value)} is before the year 2000"
    if us > latest_us:
        ahead = f"{field} {_quoted(value)} lies over 24 h ahead of this ingest"
        return Reason.FUTURE_TIME, ahead + _finer_unit(us, latest_us)
    return None


def _finer_unit(us: int, latest_us: int) -> str:
    """A question, where a time would be a good one in a finer unit than seconds."""
    for name, parts in _FINER_UNITS:
        if fields.EARLIEST_US <= us // parts <= latest_us:
            return f": is it in {name}? A number is one of seconds"
    return ""


def _microseconds(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, str) and _TIME.fullmatch(value):
            return (datetime.fromisoformat(value.upper()) - _EPOCH) // timedelta(microseconds=1)
        return int(Decimal(str(value)) * 1_000_000)
    except (ValueError, OverflowError, InvalidOperation):
        return None


def _reads_without_offset(value: str) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        return False


def _bad_value(row: dict[str, Any], _: int) -> tuple[Reason, str] | None:
    for field, (least, most) in fields.WHOLE_NUMBERS.items():
        if field in row and not _is_whole(row[field], least, most):
            bound = "" if least is None else f" of at least {least}"
            bound += "" if most is None else f" and at most {most:,}"
            return Reason.BAD_VALUE, f"{field} {_quoted(row[field])} is no whole number{bound}"
    for field, choices in fields.CHOICES.items():
        if field in row and _text(row[field]) not in choices:
            return (
                Reason.BAD_VALUE,
                f"{field} {_quoted(row[field])} is none of {', '.join(choices)}",
            )
    if "category" in row and not re.fullmatch(fields.CATEGORY, _text(row["category"])):
        return Reason.BAD_VALUE, f"category {_quoted(row['category'])} is no domain/category"
    for field, longest in fields.TEXTS.items():
        if field in row and len(_text(row[field])) > longest:
            return Reason.BAD_VALUE, f"{field} is longer than {longest:,} characters"
    if row.get("job_id") == "":
        return Reason.BAD_VALUE, "job_id is empty"
    return None


def _is_whole(value: Any, least: int | None, most: int | None) -> bool:
    if isinstance(value, bool | dict | list):
        return False
    try:
        number = Decimal(str(value))
        whole = number == number.to_integral_value() and abs(number) < 2**63
    except (InvalidOperation, ValueError):
        return False
    return whole and (least is None or number >= least) and (most is None or number <= most)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
