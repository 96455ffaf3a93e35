"""Lines of text logs made readable: colours off, progress bars apart, rank labels and times read.

Knows no format and makes no events. A time that a line does not tell is None, never guessed; only
a year that a logger leaves out is taken from the log's first lines, else from the file's own time.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from ingest.collectors.base import Block, Dump, Reading
from ingest.collectors.units import EARLIEST_US, LATEST_US, SECOND_US

_LOG = logging.getLogger("ingest")

_DAY_US = 86_400 * SECOND_US
_LONGEST_HEAD_US = 30 * _DAY_US  # from the earliest of a log's first lines to the newest
_QUARTER_US = 900 * SECOND_US
_BESIDE_US = 60 * SECOND_US
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_YEARS_TRIED = 9  # two 29ths of February are at most eight years apart
_FEW = 16  # texts that are searched one by one before a search of all of them at once is prepared
_MOST_PREFIXES = 8  # labels and times of srun, mpirun, a container, torchrun and the trainer

_COLOUR = re.compile(
    rb"(?:\x1b|\^\[|#033)(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
    rb"|\[(?:\d{1,3}(?:;\d{1,3})*)?m"  # what a copy leaves that swallowed the escape character
)
_BAR = re.compile(
    rb"(?P<title>[^|]{0,120}?)\d{1,3}%\|[^|]{0,200}\|"
    rb"\s*(?:(?P<done>\d{1,18})/\d+|\S{1,20})\s*\[[^\]]{0,200}\]"
)
_BREAKS_OFF = re.compile(rb"\[rank\d{1,7}\]:?\s?(?=Traceback \(most recent call last\))")
_LABEL = re.compile(
    rb"\s{0,8}(?:"
    rb"\[(?i:rank)[ :_=]?(?P<rank>\d{1,7})\]:?\s?"
    rb"|\[[A-Za-z_][\w.-]{0,40}?(?P<local>\d{1,7})\]:\s?"  # torchrun: role and local rank
    rb"|\[(?:[\w.@-]{1,80}@)?\d{1,7},(?:mpirank:)?(?P<mpi>\d{1,7})(?:,[A-Za-z][\w.-]{0,80})?\]"
    rb"(?:<std(?:out|err|diag)>)?:\s?"
    rb"|\[(?P<horovod>\d{1,7})\]<std(?:out|err)>:\s?"
    rb"|(?P<srun>\d{1,7}):(?:\s|$)"
    rb"|(?P<service>[A-Za-z][\w.-]{0,62}[-_]\d{1,4}) {1,40}\|\s?"  # docker compose
    rb"|(?P<host>[A-Za-z][\w.-]{0,62}\d|\d{1,3}(?:\.\d{1,3}){3}):\s"
    rb"(?=\s*(?:\[|\{\"|\d{4}[-/]\d\d|[IWEFC]\d{4,8}\s|Traceback|\d+:\s))"
    # torchrun with a template, as its documentation gives them
    rb"|(?:\[(?P<bare>\d{1,7})\]:\s?|(?P<node>[A-Za-z][\w.-]{0,62}\d):(?P<of_node>\d{1,7}):\s)"
    rb"(?=\[|\{\"|\d{4}[-/]\d\d|[IWEFC]\d{4,8}\s|Traceback)"
    rb")"
)
# what a container's runtime, or a pipe through `ts`, puts before a line, with the blank behind it
STAMP = (
    rb"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?"
    rb"(?: std(?:out|err) [FP])? "
)
_CLOCK = rb"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?!\d)"
HALF = rb"(?:\s?([AaPp])\.?[Mm]\b\.?)?"  # of a day, where the clock has twelve hours
# hours alone only right behind the clock: after a blank they may be any number
_OFFSET = rb"Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d(?!\d|[.:]\d)|(?<=\d)[+-]\d\d(?![\w.:])"
_ZONE = rb"(?:\s?(" + _OFFSET + rb"))?"
# what stands in a bracket before a time: `[INFO|2026-03-01 10:00:00]`
_LEVEL = rb"[A-Za-z][A-Za-z |]{0,20}(?=\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:)"
# the whole of a level, of a logger's name in brackets, of a process in parentheses, which Ray calls
# what its actor calls itself: `(Worker(train-0) pid=4711)`
_TAGS = (
    rb"(?:[\s|*>#=-]+|\[(?![IWEFC]\d{4})(?!"
    + _LEVEL
    + rb")[A-Za-z][^\[\]]{0,100}\]:?|\([^()]{1,80}(?:\([^()]{0,80}\)[^()]{0,80})?\)\s|"
    rb"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b[:|]?)*+"
)
_KEY = (
    rb"(?:\{(?:\"[^\"]{1,40}\":\s?\"[^\"]{0,80}\",\s?){0,4}"
    rb"\"(?:@?timestamp|ts|time|asctime|date|datetime)\":\s?\"?"
    rb"|(?:timestamp|ts|time|asctime|date|datetime)[=:]\s?[\"']?|\[" + _LEVEL + rb"|[\[(<\"'])?"
)
_TIME = re.compile(
    _TAGS
    + _KEY
    + rb"(?:(?P<day>\d{4}[-/]\d\d[-/]\d\d)[T _,]"
    + _CLOCK
    + HALF
    + _ZONE
    + rb"|(?P<us_day>\d\d/\d\d/\d{4})[ -]"
    + _CLOCK
    + HALF
    + _ZONE
    + rb"|[IWEFC](?P<glog_day>\d{8}|\d{4})\s"
    + _CLOCK
    + _ZONE
    + rb"|(?P<epoch>[1-3]\d{9})(?:\.(?P<part>\d{1,9})|(?P<millis>\d{3}))?(?=[\s\],:|\"}])"
    + rb"|(?P<short_day>(?:0[1-9]|1[0-2])/(?:0[1-9]|[12]\d|3[01]))\s"
    + _CLOCK
    + _ZONE
    # what loggers put behind it
    + rb"(?=\]|\s-\s|\s[\w.]{1,80}\]:|\s\[[A-Z]{4,8}\b[^\[\]]{0,100}\]:)"
    # rich: month, day, year; others that write so tell the day first, but no level behind it
    + rb"|(?P<rich_day>\d\d/\d\d/\d\d)\s"
    + _CLOCK
    + _ZONE
    + rb"(?=\]\s(?:NOTSET|DEBUG|INFO|WARNING|ERROR|CRITICAL)\s)"
    + rb"|(?P<short_year>\d\d-\d\d-\d\d)\s"  # Lingua, which tells for how long it runs, too
    + _CLOCK
    + _ZONE
    + rb"(?=\s-\s(?:\d{1,5}\sdays?,\s)?\d{1,3}:\d\d:\d\d\s-\s)"
    + rb")[\])>\"']?(?:\sstd(?:out|err)\s[FP]\s)?"  # what a container's runtime puts behind it
)
# a time that tells no offset, wherever it stands
LOCAL_TIME = re.compile(
    rb"(?:(?<!\d)\d{4}[-/]\d\d[-/]\d\d[T _,]|(?<!\d)\d\d/\d\d/\d{4}[ -]|[IWEFC](?:\d{4}|\d{8})\s"
    rb"|(?<![\d/])\d\d/\d\d\s|(?<=\[)\d\d/\d\d/\d\d\s"
    rb"|(?<![\d-])\d\d-\d\d-\d\d\s)\d\d:\d\d:\d\d(?:[.,]\d{1,9})?+(?!\d)"
    + HALF
    + rb"+(?!\s?(?:"
    + _OFFSET
    + rb"))"
)
# begins with the slash, which is looked for at once: digits are everywhere
_SLASHED = re.compile(rb"/(?<=(?<!\d)(\d\d)/)(\d\d)/(\d{4})[ -]\d\d:\d\d:\d\d")
# begins with the colon, likewise; and the end of a word, with nothing of its own line behind it
_TIMED = re.compile(
    rb":(?:(?<=(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:))"
    rb"|(?<=([IWEFC]\d{4}\s\d\d:))|(?<=([IWEFC]\d{8}\s\d\d:)))"
    rb"\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?(?=[\])\s|>,])"
)
_WORD = re.compile(rb"[A-Za-z0-9.%](?=(?:\[[A-Za-z][^\[\]]{0,80}\]:?\s?){0,3}[\[(]?$)")
_LONGEST_TAGS = 260
# names of zones as clocks have them, which may each be of several places
_ZONE_NAME = re.compile(
    rb"\s?\b(AC[DS]T|AE[DS]T|AK[DS]T|AWST|BST|C[DS]T|CES?T|E[DS]T|EES?T|HKT|HST|IST|JST|KST|M[DS]T|"
    rb"MSK|NZ[DS]T|P[DS]T|SAST|WES?T)\b"
)
_LOOKED_AT = 65_536  # bytes
_LINES_LOOKED_AT = 200  # for times that tell a year
_TIMES_LOOKED_AT = 20
_JSON_RANK = re.compile(rb"\"(?:global_)?rank\":\s?(\d{1,7})[,}]")


class Clock(NamedTuple):
    """How times are read: the zone of those that tell none; `latest_us` is the file's own time,
    before which a time without a year lies. None: such times cannot be told, but where the log's
    first lines tell a year too: `since_us` is the newest time of those. `is_day_first`: in days as
    05/03/2026 the day is told before the month. `is_second`: of an hour that the autumn repeats the
    second counts.
    """

    zone: ZoneInfo
    latest_us: int | None
    is_day_first: bool = False
    is_second: bool = False
    since_us: int | None = None


class Time(NamedTuple):
    """When a line was written: Unix microseconds, and what comes after them on the line."""

    at_us: int
    rest: bytes
    is_year_guessed: bool


class Label(NamedTuple):
    """Who a launcher says wrote a line. `local_rank` is the rank on its own node."""

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None

    def or_else(self, other: Label) -> Label:
        """The label with what another one tells and this does not."""
        return Label(
            other.rank if self.rank is None else self.rank,
            other.local_rank if self.local_rank is None else self.local_rank,
            self.host or other.host,
        )


class Said(NamedTuple):
    """A line without its prefixes: what it says, who says it, when."""

    text: bytes
    at_us: int | None
    label: Label
    is_year_guessed: bool


NOBODY = Label()


def clock_of(dump: Dump, reading: Reading) -> Clock:
    """Asks the file for its time of last change, which standard input has not, and looks through
    one with days as 05/03/2026 for what they mean. Warns where names of zones stand behind times.
    """
    blocks = dump.before() if dump.before is not None else dump.blocks()
    first = next(blocks, (0, b""))[1]
    clock = Clock(reading.timezone, _changed_us(dump), _tells_day_first(first, blocks))
    clock = clock._replace(since_us=_newest_us(first[:_LOOKED_AT], clock))
    if (name := _other_zone(first[:_LOOKED_AT], clock)) is not None:
        _LOG.warning(
            "%s: behind its times stands %s, which is not read: they count as of %s. Name the zone "
            "with --timezone (such as America/Los_Angeles), or let the logger print the offset "
            "(%%z)",
            dump.name,
            name,
            clock.zone,
        )
    return clock


def _newest_us(head: bytes, clock: Clock) -> int | None:
    """The newest of the first times that tell a year, and are not after the file's own."""
    first = (said(line, clock) for line in islice(head.split(b"\n"), _LINES_LOOKED_AT))
    told = (one.at_us for one in first if one.at_us is not None and not one.is_year_guessed)
    latest_us = LATEST_US if clock.latest_us is None else clock.latest_us + _DAY_US
    times = islice(told, _TIMES_LOOKED_AT)
    return max((at_us for at_us in times if at_us <= latest_us), default=None)


def _other_zone(head: bytes, clock: Clock) -> str | None:
    """The name that a line has behind its time, where the clocks of the zone have another."""
    if not _ZONE_NAME.search(head):
        return None
    own = {datetime(2026, month, 1, tzinfo=clock.zone).tzname() for month in (1, 7)}
    for line in head.split(b"\n"):
        told = said(line, clock)
        name = _ZONE_NAME.match(told.text) if told.at_us is not None else None
        if name is not None and name[1].decode() not in own:
            return name[1].decode()
    return None


def _changed_us(dump: Dump) -> int | None:
    if dump.path is None:
        return None
    try:
        return dump.path.stat().st_mtime_ns // 1_000
    except OSError:  # it was moved while it is read: rotation
        return None


def _tells_day_first(first: bytes, blocks: Iterator[Block]) -> bool:
    """Whether a log tells days before months. One whose first lines have no such days has none."""
    if not _SLASHED.search(first):
        return False
    days = set(_SLASHED.findall(first))
    for _, text in blocks:
        days.update(_SLASHED.findall(text))
    return is_day_first({(int(one), int(other), int(year)) for one, other, year in days})


def is_day_first(days: Collection[tuple[int, int, int]]) -> bool:
    """Whether all days of a log, as (05, 03, 2026), are told with the day before the month.

    A thirteenth tells. Where there is none the reading counts in which the log took less time: a
    log goes on from day to day, not from month to month. Of one day alone the month is first, as
    trainers' own loggers write.
    """
    month_first = [_day(year, one, other) for one, other, year in days]
    day_first = [_day(year, other, one) for one, other, year in days]
    only_month_first, only_day_first = (
        sum(told is not None and other is None for told, other in zip(these, those, strict=True))
        for these, those in ((month_first, day_first), (day_first, month_first))
    )
    if only_month_first or only_day_first:
        return only_day_first > only_month_first
    return _extent(day_first) < _extent(month_first)


def _day(year: int, month: int, of_month: int) -> date | None:
    try:
        return date(year, month, of_month)
    except ValueError:
        return None


def _extent(days: Iterable[date | None]) -> timedelta:
    known = [day for day in days if day is not None]
    return max(known) - min(known) if known else timedelta(0)


def without_colours(line: bytes) -> bytes:
    """A line without ANSI sequences, and without the zeros that a crashed node leaves in a file."""
    if b"\0" in line:
        line = line.replace(b"\0", b"")
    return _COLOUR.sub(b"", line) if b"[" in line or b"\x1b" in line else line


def places_without_colours(line: bytes) -> list[int]:
    """Where each byte of `without_colours(line)` stands in the line."""
    coloured = {at for found in _COLOUR.finditer(line) for at in range(*found.span())}
    return [at for at in range(len(line)) if at not in coloured]


def marked(texts: Sequence[bytes], marks: Sequence[str]) -> list[int]:
    """The places of those texts that hold a mark."""
    if len(texts) <= _FEW:
        sought = [mark.encode() for mark in marks]
        return [place for place, text in enumerate(texts) if any(mark in text for mark in sought)]
    try:
        told = pl.Series(texts, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:  # some are no UTF-8
        told = pl.Series([text.decode(errors="replace") for text in texts], dtype=pl.String)
    places: list[int] = told.str.contains_any(list(marks)).arg_true().to_list()
    return places


def pieces(line: bytes) -> list[bytes]:
    """What carriage returns wrote over one another on one line, oldest first; no empty ones."""
    if b"\r" not in line:
        return [line]
    return [piece for piece in line.split(b"\r") if piece.strip()]


def torn_apart(text: bytes, clock: Clock) -> tuple[bytes, bytes] | None:
    """The end that a killed process left of its last line, and the line of the next one that was
    written right behind it, later; None where a line is whole.
    """
    for found in _TIMED.finditer(text):
        begin = found.start(found.lastindex or 0)
        word = _WORD.search(text, max(0, begin - _LONGEST_TAGS), begin) if begin else None
        if word is None:
            continue
        torn, line = text[: word.end()], text[word.end() :]
        own_us, later_us = said(torn, clock).at_us, said(line, clock).at_us
        if later_us is not None and (own_us is None or own_us < later_us):
            return torn, line
    return None


def split_bar(text: bytes) -> tuple[int | None, bytes]:
    """How far a progress bar at the text's beginning is, behind a label or not, and what was
    written right behind it. Of several, whose carriage returns a collector of logs took away, the
    last counts.
    """
    done, title, end = None, b"", 0
    label = _LABEL.match(text) if b"%|" in text[:200] else None
    at = label.end() if label else 0
    while b"%|" in text[at : at + 140] and (bar := _BAR.match(text, at)):
        if end and not title.endswith(bar["title"].strip()):
            break
        done, title = int(bar["done"]) if bar["done"] else None, bar["title"].strip()
        at = end = bar.end()
    return done, text[end:]


def breaks_off_at(text: bytes, clock: Clock) -> int:
    """Where a rank breaks off behind what another had begun to write; 0 where nothing stands before
    it but labels and times.
    """
    found = _BREAKS_OFF.search(text)
    return found.start() if found and said(text[: found.start()], clock).text.strip() else 0


def split_label(text: bytes) -> tuple[Label, bytes]:
    """The label that a launcher puts before each line, and the rest: `[rank3]:`, `[default0]:`,
    `[3]:` and `node1:3: ` of torchrun, `3: ` of srun, `[1,3]<stdout>:` of mpirun, `[3]<stdout>:`
    of horovodrun, `node1: ` and `10.0.0.7: ` of pdsh, `job-1  | ` of compose.
    """
    found = _LABEL.match(text)
    if found is None:
        return NOBODY, text
    rank, local, mpi, horovod, srun, service, host, bare, node, of_node = found.groups()
    told, host = rank or mpi or horovod or srun or bare or of_node, service or host or node
    label = Label(
        int(told) if told else None,
        int(local) if local else None,
        host.decode() if host else None,
    )
    return label, text[found.end() :]


def split_time(text: bytes, clock: Clock) -> Time | None:
    """The time that a text begins with, tags and brackets before it left out. None where it begins
    with none, or with one that is no time of this century.
    """
    found = _TIME.match(text)
    if found is None:
        return None
    try:
        at_us = _instant(found, clock)
    except ValueError:
        return None
    if at_us is None or not EARLIEST_US <= at_us < LATEST_US:
        return None
    day = found["glog_day"] or found["short_day"]
    tells_no_year = day is not None and len(day) < len(b"20260301")
    is_guessed = tells_no_year and clock.since_us is None
    return Time(at_us, text[found.end() :], is_guessed)


def zones_apart_us(at_us: int, stamp_us: int) -> int:
    """How far the zone of a time that tells none is from the one that a stamp beside it tells:
    whole quarters of an hour, 0 where they are not a minute near to that.
    """
    apart_us = _QUARTER_US * round((stamp_us - at_us) / _QUARTER_US)
    return apart_us if abs(stamp_us - at_us - apart_us) <= _BESIDE_US else 0


def said(line: bytes, clock: Clock) -> Said:
    """A line, or a piece of one, without its labels and times. Of several times the first counts:
    what a container or a launcher put before the line carries a zone.
    """
    text = without_colours(line)
    rank = local_rank = at_us = None
    host: str | None = None
    is_year_guessed = False
    for _ in range(_MOST_PREFIXES):
        label, rest = split_label(text)
        if len(rest) < len(text):
            rank = label.rank if label.rank is not None else rank
            local_rank = label.local_rank if label.local_rank is not None else local_rank
            host = label.host or host
            text = rest
            continue
        time = split_time(text, clock) if at_us is None else None
        if time is None:
            break
        if rank is None and text.startswith(b"{") and (told := _JSON_RANK.search(text)):
            rank = int(told[1])
        at_us, text, is_year_guessed = time
    return Said(text, at_us, Label(rank, local_rank, host), is_year_guessed)


def _instant(found: re.Match[bytes], clock: Clock) -> int | None:
    if day := found["day"]:
        return _at(day.replace(b"/", b"-"), _clock_time(found, 2), clock)
    if day := found["us_day"]:
        month, of_month = (day[3:5], day[:2]) if clock.is_day_first else (day[:2], day[3:5])
        if month > b"12":  # a line that somebody else wrote
            month, of_month = of_month, month
        iso = b"-".join((day[6:], month, of_month))
        return _at(iso, _clock_time(found, 9), clock)
    if day := found["glog_day"]:
        return _glog_instant(day, found.group(16, 17, 18, 19, 20), clock)
    if day := found["short_day"]:
        return _glog_instant(day.replace(b"/", b""), found.group(25, 26, 27, 28, 29), clock)
    if day := found["rich_day"]:
        iso = b"-".join((b"20" + day[6:], day[:2], day[3:5]))
        return _at(iso, found.group(31, 32, 33, 34, 35), clock)
    if day := found["short_year"]:
        return _at(b"20" + day, found.group(37, 38, 39, 40, 41), clock)
    seconds = int(found["epoch"]) * SECOND_US
    return seconds + _micros(found["part"] or found["millis"])


def _clock_time(found: re.Match[bytes], first: int) -> tuple[bytes | None, ...]:
    """Hour, minute, second, fraction and zone, which begin with this group."""
    hour, minute, second, fraction, half, zone = found.group(*range(first, first + 6))
    if half and b"01" <= hour <= b"12":
        hour = b"%02d" % (int(hour) % 12 + 12 * (half in b"Pp"))
    return hour, minute, second, fraction, zone


def _glog_instant(day: bytes, clock_time: tuple[bytes | None, ...], clock: Clock) -> int | None:
    """Without a year: the first such time that is not long before the log's first ones, where those
    tell a year, else the newest that is not after the file's own. A day is let pass: the zone of a
    log that tells none may not be the one that the reader gave.
    """
    if len(day) == 8:
        return _at(b"-".join((day[:4], day[4:6], day[6:])), clock_time, clock)
    if clock.since_us is not None:
        earliest_us = clock.since_us - _LONGEST_HEAD_US
        first = _year(earliest_us)
        told = _of_years(range(first, first + _YEARS_TRIED), day, clock_time, clock)
        return next((at_us for at_us in told if at_us >= earliest_us), None)
    if clock.latest_us is None:
        return None
    latest_us = clock.latest_us + _DAY_US
    newest = _year(latest_us)
    told = _of_years(range(newest, newest - _YEARS_TRIED, -1), day, clock_time, clock)
    return next((at_us for at_us in told if at_us <= latest_us), None)


def _year(at_us: int) -> int:
    return (_EPOCH + at_us * _MICROSECOND).year


def _of_years(
    years: Iterable[int], day: bytes, clock_time: tuple[bytes | None, ...], clock: Clock
) -> Iterator[int]:
    for year in years:
        try:
            yield _at(b"%04d-%b-%b" % (year, day[:2], day[2:]), clock_time, clock)
        except ValueError:
            continue  # no 29th of February that year


def _at(day: bytes, clock_time: tuple[bytes | None, ...], clock: Clock) -> int:
    hour, minute, second, fraction, offset = clock_time
    assert hour is not None and minute is not None and second is not None
    if second > b"60":
        raise ValueError("no second")
    start_us = _minute_us(day, hour, minute, offset, clock.zone, is_second=clock.is_second)
    return start_us + int(second) * SECOND_US + _micros(fraction)


def _micros(fraction: bytes | None) -> int:
    return int(fraction[:6].ljust(6, b"0")) if fraction else 0


@lru_cache(maxsize=8192)
def _minute_us(
    day: bytes,
    hour: bytes,
    minute: bytes,
    offset: bytes | None,
    zone: ZoneInfo,
    *,
    is_second: bool,
) -> int:
    told = datetime.fromisoformat(f"{day.decode()}T{hour.decode()}:{minute.decode()}:00")
    if offset is None:
        told = told.replace(tzinfo=zone, fold=is_second)
    elif offset in (b"Z", b"UTC", b"GMT"):
        told = told.replace(tzinfo=UTC)
    else:
        told = datetime.fromisoformat(f"{told.isoformat()}{offset.decode()}")
    return (told.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND
