"""The lines of an MLPerf log that say something: MLLOG records, launcher's marks, errors. Knows no
job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from ingest.collectors.json_values import sound
from ingest.collectors.lines import STAMP
from ingest.collectors.slurm_values import instants
from ingest.collectors.units import EARLIEST_US, LATEST_US, SECOND_US
from ingest.events import Reason, Rejected

_MOST_ERRORS = 20  # a launch
_LONGEST_MESSAGE = 2_000  # characters
_TRACEBACK = b"Traceback (most recent call last)"
_LONGEST_BEFORE = 300  # bytes
_MOST_WRITERS = 64  # of one label
_RECORD = ":::MLLOG"
# what docker compose and a container's runtime put before a line, or a pipe through `ts`
_BEFORE = rb"(?:[A-Za-z][\w.-]{0,80} +\| |" + STAMP + rb"){1,3}"
_PREFIX = re.compile(_BEFORE)
_LABEL = re.compile(rb"\s*(\d{1,7}):(?: |$)")
START = rb"(?:" + _BEFORE + rb")?[ \t]*(?:\d+: )?RUNANDTIME_START \d{9,}"
_TRACE = re.compile(rb"\++ ")
_MARK = re.compile(rb"RUNANDTIME_(START|STOP) (\d{9,11})\s*")
_RANK = re.compile(rb"\[(?:default|rank)?(\d{1,7})\]: ?")
_ERROR = re.compile(
    rb"out of memory|OutOfMemory|oom[-_]kill|NCCL error|CANCELLED AT|srun: error: .*task|"
    rb"Watchdog caught collective operation timeout|"
    rb"[Ss]egmentation fault|Bus error|core dumped|Fatal Python error"
)
_CANCELLED = re.compile(r"CANCELLED AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?: DUE TO ([A-Z ]+?))? *\*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Record:
    """One MLLOG record."""

    at_us: int
    key: str
    value: object
    metadata: dict[str, object]


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """An error as the log words it; `told_us` is the time on the line itself, `due_to` why Slurm
    cancelled the step.
    """

    message: str
    rank: int | None
    told_us: int | None = None
    due_to: str | None = None


def split_label(line: bytes) -> tuple[int | None, bytes]:
    """The task number that `srun -l` puts before a line, and the line without what is before it."""
    label = _LABEL.match(line)
    if label is None and (prefix := _PREFIX.match(line)):
        line = line[prefix.end() :]
        label = _LABEL.match(line)
    return (int(label[1]), line[label.end() :]) if label else (None, line)


def is_trace(text: bytes) -> bool:
    """Whether a shell shows a command before it runs it: the trace of `echo RUNANDTIME_START` is no
    mark.
    """
    return _TRACE.match(text) is not None


def mark_in(text: bytes) -> tuple[bool, int] | None:
    """Whether the launcher starts or stops, and when: Unix microseconds of a whole second."""
    mark = _MARK.fullmatch(text)
    return (mark[1] == b"START", int(mark[2]) * SECOND_US) if mark else None


def records_in(line_number: int, text: bytes) -> Iterator[Record | Rejected]:
    """The records of one line: ranks that write at once may put several on it."""
    try:
        line = text.decode()
    except UnicodeDecodeError:
        yield Rejected(
            line_number, Reason.NOT_UTF8, "an MLLOG record", text.decode(errors="replace")
        )
        return
    for piece in line.split(_RECORD)[1:]:
        told = piece.lstrip()
        if not told.startswith("{"):
            continue  # prose that names the marker
        try:
            fields, _ = _DECODER.raw_decode(told)
            # half a character can only be written as an escape
            fields = sound(fields) if "\\u" in told else fields
        except (ValueError, RecursionError) as why:
            yield Rejected(line_number, Reason.NOT_JSON, f"an MLLOG record: {why}", line)
            continue
        yield _record(fields, line_number, line)


def _record(fields: dict[str, object], line_number: int, line: str) -> Record | Rejected:
    key, time_ms = fields.get("key"), fields.get("time_ms")
    if not isinstance(key, str) or time_ms is None:
        missing = "time_ms" if isinstance(key, str) else "key"
        return Rejected(
            line_number, Reason.MISSING_FIELD, f"an MLLOG record without {missing}", line
        )
    is_number = isinstance(time_ms, int | float) and not isinstance(time_ms, bool)
    # compared before it is converted: a float may be infinite
    if not is_number or not EARLIEST_US <= float(str(time_ms)) * 1000 < LATEST_US:
        return Rejected(line_number, Reason.BAD_TIMESTAMP, f"time_ms is {str(time_ms)[:80]}", line)
    metadata = fields.get("metadata")
    return Record(
        at_us=round(float(str(time_ms)) * 1000),
        key=key,
        value=fields.get("value"),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


@dataclass(slots=True)
class Errors:
    """Finds a launch's first error line of each kind, of which there may be thousands: one a rank,
    one a frame.

    Remembers which ranks are inside a traceback: its last line, the first that is not indented,
    names the error. What a launcher puts before each line (mpirun's `[1,3]<stdout>:`, a process of
    Ray, a pod, a host) stands before all lines of a traceback.
    """

    zone: ZoneInfo
    _seen: set[bytes] = field(default_factory=set)
    _in_traceback: dict[int | None, set[bytes]] = field(default_factory=dict)

    def begin(self) -> None:
        """Another launch: it may end as one before it did."""
        self._seen.clear()
        self._in_traceback.clear()

    def error_in(self, label: int | None, text: bytes) -> ErrorLine | None:
        """The error that a line tells, if it is one and the first of its kind."""
        rank = _RANK.match(text)
        said = text[rank.end() :] if rank else text
        error = self._error_of(label, said)
        if error is None or len(self._seen) >= _MOST_ERRORS:
            return None
        said = error
        kind = re.sub(rb"\d+", b"", said[:200])
        if kind in self._seen:
            return None
        self._seen.add(kind)
        message = said.decode(errors="replace").strip()[:_LONGEST_MESSAGE]
        told_us, due_to = self._cancelled(message)
        return ErrorLine(message, int(rank[1]) if rank else label, told_us, due_to)

    def _error_of(self, label: int | None, said: bytes) -> bytes | None:
        """What of a line tells an error, if it does."""
        begin = said.find(_TRACEBACK, 0, _LONGEST_BEFORE)
        if begin >= 0:
            writers = self._in_traceback.setdefault(label, set())
            if len(writers) < _MOST_WRITERS or not begin:
                writers.add(said[:begin])
            return None
        writers = self._in_traceback.get(label, set())
        before = max((each for each in writers if said.startswith(each)), key=len, default=None)
        raised = b"" if before is None else said[len(before) :]
        if before is not None and raised.strip() and not raised[:1].isspace():
            writers.discard(before)
            return raised
        return said if _ERROR.search(said) else None

    def _cancelled(self, message: str) -> tuple[int | None, str | None]:
        cancelled = _CANCELLED.search(message)
        if cancelled is None:
            return None, None
        try:
            return instants(cancelled[1], self.zone)[0], cancelled[2]
        except ValueError:
            return None, cancelled[2]
