"""Lines that are known already but for their digits: where in them the step and the time stand, or
that they say nothing. Searches no line for what it means.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ingest.collectors.lines import HALF, Label, places_without_colours
from ingest.collectors.training_log_patterns import ONE_DIGIT, Patterns
from ingest.collectors.units import SECOND_US

_MOST = 20_000  # shapes, or beginnings
_LONGEST = 2_000  # bytes of a line
MINUTE_US = 60 * SECOND_US
_YEAR_US = 366 * 86_400 * SECOND_US
_TIME = re.compile(
    rb"(?:\d{4}[-/]\d\d[-/]\d\d[T _]|\d\d/\d\d/\d{4}[ -]|[IWEFC](?:\d{4}|\d{8})\s)\d\d"
    rb":(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?!\d)(?:\s?([+-]\d\d:?\d\d(?!\d|[.:]\d)))?"
)
_DIGIT = re.compile(rb"\d")
_HALF = re.compile(HALF)
_UTC = re.compile(rb"\s?(?:Z|UTC|GMT)\b")
_JSON_RANK = re.compile(rb"\"(?:global_)?rank\":\s?(\d{1,7})[,}]")


class Step(NamedTuple):
    """A step is done. `each` is how long each took, in units of `unit_us`, if the line tells it."""

    at_us: int
    label: Label
    step: int
    samples: int | None
    each: bytes | None
    unit_us: int
    is_year_guessed: bool

    def each_us(self) -> int | None:
        """Microseconds that each step took."""
        return None if self.each is None else length_us(self.each.decode(), self.unit_us)


class Shape(NamedTuple):
    """Where things stand in a line. Its beginning up to the hour, with `others`, which are a zone
    and labels behind the time, tells when the hour began and who writes.
    """

    hour: slice
    minute: slice
    second: slice
    fraction: slice | None
    others: tuple[slice, ...]
    step: slice
    samples: slice | None
    each: slice | None
    unit_us: int
    is_year_guessed: bool


NOTHING = "nothing"


class Shapes:
    """What was learnt from the lines of one log. Bounded: it forgets all when it is full."""

    def __init__(self, patterns: Patterns) -> None:
        self._particular = patterns.particular
        self._shapes: dict[bytes, Shape | None] = {}
        self._beginnings: dict[bytes, tuple[int, Label]] = {}
        self._names_utc: set[bool] = set()

    def recall(self, line: bytes) -> Step | str | None:
        """The step that a line tells, or NOTHING; None where the line is not known."""
        shape = self._shapes.get(line.translate(ONE_DIGIT), NOTHING)
        if not isinstance(shape, Shape):
            return NOTHING if shape is None else None
        hour, minute, second, fraction, others, step, samples, each, unit_us, is_guessed = shape
        beginning = self._beginnings.get(_key(line, hour, others) if others else line[hour])
        if beginning is None:
            return None
        hour_us, label = beginning
        at_us = hour_us + int(line[minute]) * MINUTE_US + int(line[second]) * SECOND_US
        if fraction is not None:
            at_us += int(line[fraction].ljust(6, b"0")[:6])
        told = (
            at_us,
            label,
            int(line[step]),
            None if samples is None else int(line[samples]),
            None if each is None else line[each],
            unit_us,
            is_guessed,
        )
        return tuple.__new__(Step, told)  # twice as fast as Step(*told)

    def shape(self, key: bytes) -> Shape | None:
        """The shape of the lines that tell a step and are `key` but for their digits."""
        shape = self._shapes.get(key)
        return shape if isinstance(shape, Shape) else None

    def beginning(self, hour: bytes) -> tuple[int, Label] | None:
        """When the hour began that a line begins with, and who writes it."""
        return self._beginnings.get(hour)

    def learn_nothing(self, line: bytes) -> None:
        """Lines of this shape say nothing."""
        if len(line) <= _LONGEST and not any(mark in line for mark in self._particular):
            self._remember(line, None)

    def learn(self, line: bytes, step: Step, found: re.Match[bytes], said: bytes) -> None:
        """Lines of this shape tell a step where `found` did in the line without its colours; `said`
        is what its labels and its time left over.
        """
        text = found.string
        time = _TIME.search(text, 0, found.start("step"))
        if time is None or len(line) > _LONGEST or any(mark in line for mark in self._particular):
            return
        half = _HALF.match(text, time.end())
        if half is not None and half[1]:
            return  # what stands before the minutes does not tell the hour
        self._names_utc.add(_UTC.match(text, time.end()) is not None)
        if len(self._names_utc) > 1:  # one hour begins at two times in this log: nothing is known
            self._shapes.clear()
            self._beginnings.clear()
            return
        places = places_without_colours(line)
        if len(places) != len(text):
            return
        rank = _JSON_RANK.search(text)
        behind = _between(places, time.end(), len(text) - len(said))
        others = [_place(places, time, 4), behind, _place(places, rank, 1) if rank else None]
        minute, second = _place(places, time, 1), _place(places, time, 2)
        number = _place(places, found, "step")
        assert minute is not None and second is not None and number is not None
        shape = Shape(
            hour=slice(0, minute.start),
            minute=minute,
            second=second,
            fraction=_place(places, time, 3),
            # what holds no digit is the same on all lines of this shape
            others=tuple(place for place in others if place and _DIGIT.search(line[place])),
            step=number,
            samples=_place(places, found, "samples"),
            each=_place(places, found, "ms") or _place(places, found, "seconds"),
            unit_us=step.unit_us,
            is_year_guessed=step.is_year_guessed,
        )
        self._remember(line, shape)
        since_us = int(time[1]) * MINUTE_US + int(time[2]) * SECOND_US
        since_us += int((time[3] or b"").ljust(6, b"0")[:6])
        key = _key(line, shape.hour, shape.others) if shape.others else line[shape.hour]
        self._beginnings[key] = (step.at_us - since_us, step.label)

    def _remember(self, line: bytes, shape: Shape | None) -> None:
        if len(self._shapes) >= _MOST or len(self._beginnings) >= _MOST:
            self._shapes.clear()
            self._beginnings.clear()
        self._shapes[line.translate(ONE_DIGIT)] = shape


def length_us(told: str | None, unit_us: int) -> int | None:
    """A length that a pattern found, in microseconds; None if it is none, or longer than a year."""
    try:
        length = float(told or "") * unit_us
    except ValueError:
        return None
    return round(length) if 0 <= length <= _YEAR_US else None


def _key(line: bytes, hour: slice, others: tuple[slice, ...]) -> bytes:
    return b"\0".join([line[hour], *(line[place] for place in others)])


def _place(places: list[int], found: re.Match[bytes], group: int | str) -> slice | None:
    if isinstance(group, str) and group not in found.re.groupindex:
        return None
    return _between(places, *found.span(group))


def _between(places: list[int], start: int, end: int) -> slice | None:
    return slice(places[start], places[end - 1] + 1) if 0 <= start < end else None
