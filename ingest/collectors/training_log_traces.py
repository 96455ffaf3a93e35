"""Python tracebacks in a log, line by line and rank by rank, as one message each: the exception
first, then where it was raised. Judges no exception.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.collectors.lines import NOBODY, Label
from ingest.collectors.units import SECOND_US

HEADER = b"Traceback (most recent call last)"
_IN_ONE_LINE = HEADER + rb":\n"  # as Python tells a text of several lines in quotes

_MOST_LINES = 400  # of one traceback; what is more is left out of its middle
_MOST_OPEN = 4_096  # ranks
_MOST_FOREIGN = 50  # lines of other processes between the lines of one
_LONGEST = 3_000  # lines of the log from beginning to end
_LONGEST_MESSAGE = 65_536  # bytes
_EXCEPTION = re.compile(
    rb"(?!(?:INFO|WARNING|DEBUG|ERROR|CRITICAL|wandb)\b)"
    rb"[A-Za-z_][\w.]*(?:\[[^\]]{0,200}\]|\(\w{1,100}\))?(?::\s|:?$)"  # RayTaskError(ValueError)
)
_PYTHON_FRAME = b'File "'
_RANKS_APART_US = 60 * SECOND_US  # of one launch, at its begin
_DEEPER = 2  # blanks that Python puts before a frame, more than before the head of its traceback
_FRAME = re.compile(rb"\s*(?:\||\xe2[\x94\x95])")  # exception groups, and the boxes of rich
_LEVEL = re.compile(rb"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL|FATAL)\b")
_MOST_LENGTHS = 64  # of what launchers put before lines

_Key = tuple[Label, bytes]  # who writes: a label, and what stands before the head that is none


class Trace(NamedTuple):
    """`line_number` is that of the exception. `at_us` is of the line where the traceback begins, or
    of the nearest before it that tells a time.
    """

    line_number: int
    at_us: int | None
    label: Label
    message: str


@dataclass(slots=True)
class _Open:
    """`prefix` is what a logger puts behind the time of each line, `is_timed` whether lines tell
    one: a traceback goes on as it began. `key` is in `Traces`.
    """

    begun: int
    at_us: int | None
    key: _Key
    indent: int
    prefix: bytes
    is_timed: bool
    lines: list[bytes] = field(default_factory=list)
    exceptions: int = 1  # that are still to come: unlabelled ranks may write into one another
    foreign: int = 0

    def trace(self, line_number: int, exception: bytes) -> Trace:
        message = b"\n".join([exception, *self.lines])[:_LONGEST_MESSAGE]
        return Trace(line_number, self.at_us, self.key[0], message.decode(errors="replace"))

    def is_other(self, text: bytes, *, is_timed: bool) -> bool:
        """Whether a line is of a logger that writes between the lines of this, or after it broke
        off: what is behind its time may be as far to the right as a frame.
        """
        return is_timed and not (self.is_timed and text.startswith(self.prefix))

    def add(self, text: bytes) -> None:
        self.lines.append(text)
        if len(self.lines) > _MOST_LINES:
            del self.lines[_MOST_LINES // 2]


class Traces:
    """Tracebacks that have begun and not ended, one a label, or one a writer where a launcher puts
    before each line what is no label: `(RayTrainWorker pid=7) `, a pod, the host before a line that
    tells no time. `are_open`: there are some.
    """

    def __init__(self) -> None:
        self.are_open = False
        self._open: dict[_Key, _Open] = {}
        self._of_writer: dict[bytes, _Key] = {}
        self._lengths: set[int] = set()  # of writers
        # those behind whose head no line had the same before it: a head may stand in any line
        self._alone: dict[Label, _Key] = {}

    def hear(
        self, line_number: int, at_us: int | None, label: Label, text: bytes, *, is_timed: bool
    ) -> list[Trace] | None:
        """The tracebacks that end with this line. None: it is no part of a traceback. `is_timed`:
        it tells a time of its own.
        """
        if HEADER in text and _IN_ONE_LINE not in text:
            self._begin(line_number, at_us, label, text, is_timed=is_timed)
            return []
        key, text = self._whose(label, text)
        trace = self._open.get(key)
        if trace is None:
            return self._late(line_number)
        if len(trace.lines) == 1 and text.strip().startswith(_PYTHON_FRAME):
            trace.prefix = b""  # it was that of the head alone
        is_other = trace.is_other(text, is_timed=is_timed)
        text = text.removeprefix(trace.prefix)
        said = text.strip()
        if not said:
            return []
        if len(trace.lines) == 1 and said.startswith(_PYTHON_FRAME):
            # the head may stand behind a progress bar, or in a logger's line
            trace.indent = max(0, _indent(text) - _DEEPER)
            trace.is_timed = is_timed
            trace.add(text.rstrip())
            return []
        if not is_other and (_indent(text) > trace.indent or _FRAME.match(text)):
            trace.add(text.rstrip())
            return []
        if not is_other and _EXCEPTION.match(said):
            trace.exceptions -= 1
            if not trace.exceptions:
                self._end(key)
            return [trace.trace(line_number, said)]
        trace.foreign += 1
        if trace.foreign > _MOST_FOREIGN:
            return self._give_up(key)
        return self._late(line_number)

    def break_off(self, at_us: int | None) -> list[Trace]:
        """A launch begins at this time, or at one that no line tells: what one before it had begun
        to write has no end. Ranks that begin with it may be writing theirs.
        """
        return [
            trace
            for key, each in list(self._open.items())
            if at_us is None or each.at_us is None or at_us - each.at_us > _RANKS_APART_US
            for trace in self._give_up(key)
        ]

    def close(self) -> list[Trace]:
        """The tracebacks that the log breaks off in: their last line stands for the exception."""
        return [trace for key in list(self._open) for trace in self._give_up(key)]

    def _whose(self, label: Label, text: bytes) -> tuple[_Key, bytes]:
        """Which traceback a line may be of, and what it says behind the writer."""
        for length in self._lengths:
            key = self._of_writer.get(text[:length])
            if key is not None and label in (key[0], NOBODY):
                if self._alone.get(key[0]) == key:
                    del self._alone[key[0]]
                head = self._open[key].lines[0]
                self._open[key].lines[0] = head.removeprefix(key[1].strip()).strip()
                return key, text[length:]
        own = label, b""
        return (own if own in self._open else self._alone.get(label, own)), text

    def _begin(
        self, line_number: int, at_us: int | None, label: Label, text: bytes, *, is_timed: bool
    ) -> None:
        before = text[: text.index(HEADER)]
        prefix = before if _LEVEL.search(before) else b""
        writer = before.lstrip() and before.removeprefix(prefix)
        if not before and label.host is not None:
            writer = label.host.encode() + b": "
        key = label, writer
        known = self._open.get(key if writer else self._whose(label, text)[0])
        if known is not None:
            known.exceptions += 1
            known.add(text.strip())
        elif len(self._open) < _MOST_OPEN:
            indent = len(before) if not before.strip() else 0
            lines = [text.removeprefix(prefix).strip()]
            self._open[key] = _Open(line_number, at_us, key, indent, prefix, is_timed, lines)
            self.are_open = True
            if writer and len(self._lengths | {len(writer)}) <= _MOST_LENGTHS:
                self._of_writer[writer] = key
                self._lengths.add(len(writer))
                self._alone.setdefault(label, key)

    def _late(self, line_number: int) -> list[Trace] | None:
        oldest = next(iter(self._open.values()), None)
        if oldest is None or line_number - oldest.begun < _LONGEST:
            return None
        return self._give_up(oldest.key)

    def _end(self, key: _Key) -> _Open:
        label, writer = key
        self._of_writer.pop(writer, None)
        if self._alone.get(label) == key:
            del self._alone[label]
        trace = self._open.pop(key)
        self.are_open = bool(self._open)
        return trace

    def _give_up(self, key: _Key) -> list[Trace]:
        trace = self._end(key)
        last = trace.lines.pop().strip() if len(trace.lines) > 1 else b""
        return [trace.trace(trace.begun, last)] if last else []


def _indent(text: bytes) -> int:
    return len(text) - len(text.lstrip())
