"""The hour that clocks go through twice in autumn, in logs whose times tell no offset: which of
the two each line means, by what stands around it.

Takes the reading in which the log's times lie nearest to each other. Knows no format of lines.
"""

from __future__ import annotations

import logging
import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ingest.collectors.base import Block, Dump, Line
from ingest.collectors.lines import LOCAL_TIME, Clock, marked, pieces, said, split_bar, split_time
from ingest.collectors.units import SECOND_US

_LOG = logging.getLogger("ingest")

_YEARS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
_STEP = timedelta(days=14)  # no zone changes its clocks twice in so short a time
_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m%d", "%m/%d", "%m/%d/%y", "%y-%m-%d")
_BACK = 2  # ranks write late by less than most logs are silent for
_LONGEST_BEHIND = 256  # bytes behind a time: some are known for times by these alone
_NEAR = 256  # lines around one in such an hour that are asked for their times


class _Told(NamedTuple):
    """A line's time, and what else it may mean."""

    number: int
    at_us: int
    second_us: int | None


class _Meant:
    """When lines were written: those that may mean two times, and their neighbours."""

    def __init__(self, told: list[_Told], at_us: list[int]) -> None:
        self._numbers = [line.number for line in told]
        self._at_us = at_us
        self.first = self._numbers[0]

    def of(self, number: int) -> int:
        """The first time of that line; of one that tells none the time of a line before it."""
        place = bisect_left(self._numbers, number)
        is_told = place < len(self._numbers) and self._numbers[place] == number
        return self._at_us[place if is_told else place - 1]


def told_apart(dump: Dump, clock: Clock) -> Dump:
    """The dump with the offset put behind each time that means the second of two such hours. Reads
    it through where the zone has such hours. Warns where nothing tells which one is meant.
    """
    marks = _marks(clock.zone)
    if not marks:
        return dump
    blocks = dump.before() if dump.before is not None else dump.blocks()
    told = list(_sparse(_times(_near(blocks, marks), clock)))
    at_us = _nearest(told)
    if all(line.at_us == chosen for line, chosen in zip(told, at_us, strict=True)):
        if told and all(line.second_us is not None for line in told):
            _LOG.warning(
                "%s: all its times lie in an hour that clocks in %s go through twice; the first "
                "was taken. Let the logger print the offset (%%z)",
                dump.name,
                clock.zone,
            )
        return dump
    meant = _Meant(told, at_us)
    many = dump.many
    return replace(
        dump,
        lines=lambda: _lines_with_offsets(dump.lines(), meant, clock),
        many=None if many is None else lambda: _blocks_with_offsets(many(), marks, meant, clock),
    )


@lru_cache(maxsize=16)
def _marks(zone: ZoneInfo) -> tuple[str, ...]:
    """What all local times in hours that this zone repeats hold: day and hour, as loggers write."""
    told = {
        f"{hour.strftime(day)}{behind}{hour.strftime(spelled)}:"
        for change in _put_back(zone)
        for hour in _repeated(change, zone)
        for day in _DAYS
        for behind in " T_-,"
        for spelled in ("%H", "%I")
    }
    return tuple(sorted(told))


def _put_back(zone: ZoneInfo) -> Iterator[datetime]:
    """The moments, to the minute, at which the zone's clocks are put back."""
    first, last = _YEARS
    days = [first + number * _STEP for number in range((last - first) // _STEP)]
    for begin, end in pairwise(days):
        before = _offset(begin, zone)
        if _offset(end, zone) >= before:
            continue
        minutes = range((end - begin) // _MINUTE)

        def is_put_back(minute: int, begin: datetime = begin, before: timedelta = before) -> bool:
            return _offset(begin + minute * _MINUTE, zone) < before

        yield begin + bisect_left(minutes, True, key=is_put_back) * _MINUTE


def _repeated(change: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """The local hours that are gone through twice, in whole or in part."""
    end = (change + _offset(change - _MINUTE, zone)).replace(tzinfo=None)
    hour = (change + _offset(change, zone)).replace(tzinfo=None, minute=0)
    while hour < end:
        yield hour
        hour += _HOUR


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    return at.astimezone(zone).utcoffset() or timedelta()


def _near(blocks: Iterable[Block], marks: tuple[str, ...]) -> Iterator[Line]:
    """The lines that hold a mark, and those near to them."""
    before = b""
    told = latest = -_NEAR  # the last line that was given out, and the last with a mark
    for first, text in blocks:
        if latest + _NEAR >= first or marked([text], marks):
            own = text.split(b"\n")
            lines = before.rsplit(b"\n", _NEAR)[-_NEAR:] + own
            begun = first + len(own) - len(lines)
            for place in marked(lines, marks):
                latest = begun + place
                stop = min(latest + _NEAR + 1, begun + len(lines))
                for number in range(max(begun, told + 1, latest - _NEAR), stop):
                    yield number, lines[number - begun]
                told = max(told, stop - 1)
        before = text


def _times(lines: Iterable[Line], clock: Clock) -> Iterator[_Told]:
    second = _second(clock)
    for number, line in lines:
        for piece in pieces(line):
            text = split_bar(piece)[1]
            at_us = said(text, clock).at_us
            if at_us is not None:
                yield _Told(number, at_us, _later(said(text, second).at_us, at_us))


def _later(second_us: int | None, first_us: int) -> int | None:
    """A time that spring skips lies earlier in its second reading."""
    return second_us if second_us is not None and second_us > first_us else None


def _sparse(told: Iterable[_Told]) -> Iterator[_Told]:
    """The lines that may mean two times, and the nearest around them that mean one."""
    before: _Told | None = None
    is_behind = False
    for line in told:
        if line.second_us is not None:
            if before is not None:
                yield before
            yield line
            before, is_behind = None, True
        elif is_behind:
            yield line
            before, is_behind = None, False
        else:
            before = line


def _nearest(told: list[_Told]) -> list[int]:
    """What each line means: the way through their times with the least sum of the square roots of
    all distances, those back in time twice. They let a log go on steadily, and put an hour that no
    line tells of into its longest pause. Of two such ways the one of first readings.
    """
    times: list[tuple[int, ...]] = []
    came_from: list[list[int]] = []
    costs = [0.0]
    for line in told:
        readings = (line.at_us,) if line.second_us is None else (line.at_us, line.second_us)
        ways = [_cheapest(at_us, costs, times[-1] if times else (at_us,)) for at_us in readings]
        costs = [cost for cost, _ in ways]
        came_from.append([way for _, way in ways])
        times.append(readings)
    chosen: list[int] = []
    way = costs.index(min(costs))
    for at, ways_before in zip(reversed(times), reversed(came_from), strict=True):
        chosen.append(at[way])
        way = ways_before[way]
    return chosen[::-1]


def _cheapest(at_us: int, costs: list[float], before: tuple[int, ...]) -> tuple[float, int]:
    """What it costs to come to a time, and from which reading of the line before."""
    return min(
        (cost + math.sqrt(abs(at_us - from_us)) * (1 if from_us <= at_us else _BACK), way)
        for way, (cost, from_us) in enumerate(zip(costs, before, strict=True))
    )


def _lines_with_offsets(lines: Iterable[Line], meant: _Meant, clock: Clock) -> Iterator[Line]:
    for number, line in lines:
        if number >= meant.first:
            yield number, _with_offsets(line, meant.of(number), clock)
        else:
            yield number, line


def _blocks_with_offsets(
    blocks: Iterable[Block], marks: tuple[str, ...], meant: _Meant, clock: Clock
) -> Iterator[Block]:
    for first, text in blocks:
        if marked([text], marks):
            lines = _lines_with_offsets(enumerate(text.split(b"\n"), first), meant, clock)
            yield first, b"\n".join(line for _, line in lines)
        else:
            yield first, text


def _with_offsets(line: bytes, from_us: int, clock: Clock) -> bytes:
    """The first time of a line means what the line does, each other what is nearest to the one
    before it.
    """

    def meant(time: re.Match[bytes]) -> bytes:
        nonlocal from_us
        text = line[time.start() : time.end() + _LONGEST_BEHIND]
        first, second = (split_time(text, told) for told in (clock, _second(clock)))
        second_us = second and first and _later(second.at_us, first.at_us)
        if first is None or second_us is None:
            return time[0]
        is_second = abs(second_us - from_us) < abs(first.at_us - from_us)
        from_us = second_us if is_second else first.at_us
        return time[0] + (_offset_told(second_us, clock.zone) if is_second else b"")

    return LOCAL_TIME.sub(meant, line)


def _second(clock: Clock) -> Clock:
    return clock._replace(is_second=True)


def _offset_told(at_us: int, zone: ZoneInfo) -> bytes:
    return datetime.fromtimestamp(at_us // SECOND_US, zone).strftime("%z").encode()
