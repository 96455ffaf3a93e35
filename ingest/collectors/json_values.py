"""What JSON written by someone else says, as values that fit the warehouse: the objects of a line,
whole numbers, texts, instants.

Knows no format and makes no events. What does not fit is None, never cut to fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ingest.collectors.units import EARLIEST_US, LATEST_US, SECOND_US
from ingest.events import Reason, Rejected

MOST_WHOLE = 2**62  # room for sums
MOST_GPUS = 10_000_000
LONGEST_ID = 256
LONGEST_TEXT = 4_096
LONGEST_MESSAGE = 65_536


def _int(digits: str) -> int | float:
    """Python refuses to make a number of some thousands of digits: it is one past all bounds, so
    that only what is read of it is refused, and not the whole line.
    """
    try:
        return int(digits)
    except ValueError:
        return float(digits)


PATIENT = json.JSONDecoder(parse_int=_int)

# What it decodes is what `json` makes of it; it refuses NaN, infinite numbers and halves of
# characters, which `json` takes: what it refuses is to be asked of PATIENT again.
FAST = msgspec.json.Decoder()

Fields = dict[str, Any]


def objects_in(number: int, line: bytes, opening: re.Pattern[str]) -> Iterator[Fields | Rejected]:
    """The JSON objects of one line, also those of an array. Where writers tore their lines into one
    another, or put a label before them, every place that looks like `opening` may begin one.
    """
    try:
        whole = FAST.decode(line)
    except (ValueError, RecursionError):
        yield from _odd_objects(number, line, opening)
        return
    yield from _objects(whole)


def _odd_objects(number: int, line: bytes, opening: re.Pattern[str]) -> Iterator[Fields | Rejected]:
    """Of a line that is not one value, or one that only the more patient decoder knows."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        shown = line.decode(errors="replace")
        yield Rejected(number, Reason.NOT_UTF8, f"byte {error.start} is no UTF-8", shown)
        return
    try:
        whole = PATIENT.decode(text)
    except (ValueError, RecursionError):
        yield from _pieces(number, text, opening)
        return
    yield from _objects(whole)


def _objects(told: object) -> Iterator[Fields]:
    values = told if isinstance(told, list) else (told,)
    return (value for value in values if isinstance(value, dict))


def _pieces(number: int, text: str, opening: re.Pattern[str]) -> Iterator[Fields | Rejected]:
    begun = 0
    for found in opening.finditer(text):
        if found.start() < begun:
            continue  # inside an object that was read
        try:
            fields, begun = PATIENT.raw_decode(text, found.start())
        except (ValueError, RecursionError) as why:
            yield Rejected(number, Reason.NOT_JSON, str(why)[:200], text[found.start() :])
        else:
            yield fields


def part(fields: Fields, name: str) -> Fields:
    """An object inside an object; empty where there is none."""
    inner = fields.get(name)
    return inner if isinstance(inner, dict) else {}


def whole(value: object, most: int = MOST_WHOLE) -> int | None:
    """A count from 0 on; 3.0 is one, true is none."""
    if type(value) is int:  # as nearly all are
        return value if 0 <= value <= most else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
        return value if 0 <= value <= most else None
    return None


def text(value: object, longest: int = LONGEST_TEXT) -> str | None:
    """A text that is not empty, as far as it may go; half characters become question marks."""
    if not isinstance(value, str) or not value:
        return None
    return value[:longest] if value.isascii() else _sound(value[:longest])


def sound(value: Any) -> Any:
    """The same value; half characters in its texts, however deep, become question marks."""
    if isinstance(value, str):
        return value if value.isascii() else _sound(value)
    if isinstance(value, dict):
        return {sound(name): sound(inner) for name, inner in value.items()}
    return [sound(inner) for inner in value] if isinstance(value, list) else value


def instant_us(value: object, unit_us: int) -> int | None:
    """A number of units since 1970 as Unix microseconds, if it is a time of this century."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # compared before it is converted: a float may be infinite, or no number
    if not EARLIEST_US // unit_us <= value < LATEST_US // unit_us:
        return None
    return round(value * unit_us)


def length_us(value: object) -> int | None:
    """A length in seconds as microseconds; longer than a year is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return round(value * SECOND_US) if 0 <= value <= 366 * 86_400 else None


def _sound(value: str) -> str:
    return value.encode(errors="replace").decode()
