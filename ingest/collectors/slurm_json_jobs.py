"""The job objects of `sacct --json` documents, one at a time: a document may hold years of jobs.

Looks at a window of the text that is no longer than a chunk and one job. Knows no field of a job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec

from ingest.collectors.base import Block
from ingest.collectors.json_values import PATIENT, Fields
from ingest.events import Reason, Rejected

_CHUNK = 1024 * 1024  # characters
_LONGEST_JOB = 64 * 1024 * 1024  # characters: one of some 5,000 steps
_SHOWN = 2_000  # characters
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")
_LABEL = re.compile(rb"^\[[A-Za-z]\w{0,39}\]:", re.MULTILINE)
_LIST = re.compile(r'"jobs"\s*:\s*\[')
_LONGEST_OPENING = 256
_BETWEEN = re.compile(r"[\s,]*")
_FIRST_KEY = re.compile(r'\{\s*("[^"\\\n]{1,64}")')


class _Step(TypedDict, total=False):
    state: Any
    step: Any


class _Times(TypedDict, total=False):
    elapsed: Any
    suspended: Any
    submission: Any
    start: Any
    end: Any


class _Tres(TypedDict, total=False):
    allocated: msgspec.Raw
    requested: msgspec.Raw


class _Job(TypedDict, total=False):
    """What `slurm_json_rows` looks at: of a job of 5 KB most is passed over. What says the same in
    most jobs stays as it is written.
    """

    job_id: Any
    state: Any
    exit_code: msgspec.Raw
    derived_exit_code: msgspec.Raw
    kill_request_user: Any
    time: _Times
    tres: _Tres
    steps: list[_Step]
    array: Any
    het: Any
    cluster: Any
    association: Any
    name: Any
    user: Any
    account: Any
    partition: Any
    qos: Any
    nodes: Any
    allocation_nodes: Any
    comment: Any
    working_directory: Any
    constraints: Any
    restart_cnt: Any
    failed_node: Any


_USUAL = msgspec.json.Decoder(_Job)


def undressed(text: bytes) -> bytes:
    """JSON without the colours and the names of writers that a terminal or a launcher put to it:
    neither can be a part of it.
    """
    if b"\x1b" in text:
        text = _COLOUR.sub(b"", text)
    return _LABEL.sub(b"", text) if b"]:" in text else text


@dataclass(frozen=True, slots=True)
class Job:
    """One job object, the number of its first line, and its first characters."""

    line_number: int
    line: str
    fields: Fields


@dataclass(slots=True)
class Jobs:
    """Reads the jobs of every document in a dump; `lists` counts the lists of jobs it found."""

    blocks: Iterator[Block]  # or lines
    lists: int = 0
    _text: str = ""
    _at: int = 0
    _number: int = 1  # of the line at _counted
    _counted: int = 0

    def read(self) -> Iterator[Job | Rejected]:
        """Jobs in file order. One that is no JSON is set aside, and the next one looked for."""
        while self._find(_LIST):
            self.lists += 1
            yield from self._list()

    def _list(self) -> Iterator[Job | Rejected]:
        while self._reach_next():
            if self._text[self._at] == "]":
                self._at += 1
                return
            try:
                value = self._decoded()
            except json.JSONDecodeError as error:
                is_over = error.pos >= len(self._text)
                why = "the dump breaks off in this job" if is_over else error.msg
                yield self._rejected(self._at if is_over else error.pos, Reason.NOT_JSON, why)
                if not self._find_next(error.pos):
                    return
            except (ValueError, RecursionError) as error:
                yield self._rejected(self._at, Reason.NOT_JSON, str(error)[:200])
                if not self._find_next(self._at):
                    return
            else:
                yield value
        # not behind the line end that every line of the window was given, the last one too
        end = max(self._counted, len(self._text.rstrip()))
        yield self._rejected(end, Reason.NOT_JSON, "the list of jobs has no end")

    def _decoded(self) -> Job | Rejected:
        while True:
            try:
                value, end = self._indented() or PATIENT.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # lines are never cut, so what is good up to the window's end may go on behind it
                may_go_on = error.pos == len(self._text) < self._at + _LONGEST_JOB
                if not may_go_on or not self._more():
                    raise
            else:
                break
        start, self._at = self._at, end
        if not isinstance(value, dict):
            return self._rejected(start, Reason.BAD_VALUE, "a job that is no object")
        return Job(self._count_lines(start), self._text[start : start + _SHOWN], value)

    def _indented(self) -> tuple[object, int] | None:
        """The job and where it ends, if it ends with the first brace that stands as its first does:
        an end that is found is decoded faster. None: it must be looked for.
        """
        start = self._text.rfind("\n", 0, self._at)
        indent = self._text[start : self._at]
        last = -1 if indent.strip() else self._text.find(f"{indent}}}", self._at)
        if start < 0 or last < 0:
            return None
        end = last + len(indent) + 1
        try:
            return _USUAL.decode(self._text[self._at : end]), end
        except (ValueError, RecursionError):
            return None

    def _reach_next(self) -> bool:
        """Go on to what follows white space and commas; False at the end of the dump."""
        while True:
            between = _BETWEEN.match(self._text, self._at)
            self._at = between.end() if between else self._at
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def _find(self, pattern: re.Pattern[str]) -> bool:
        """Go on to the end of what is looked for; False at the end of the dump."""
        while True:
            if found := pattern.search(self._text, self._at):
                self._at = found.end()
                return True
            self._at = max(self._at, len(self._text) - _LONGEST_OPENING)
            if not self._more():
                return False

    def _find_next(self, broken_at: int) -> bool:
        """Go on to the next job after a broken one: it is indented as that one was, or begins with
        the same key behind a comma.
        """
        key = _FIRST_KEY.match(self._text, self._at)
        indent = self._text[self._text.rfind("\n", 0, self._at) + 1 : self._at]
        ways = [rf"^{indent}(?=\{{\s*$)"] if not indent.strip() else []
        if key:
            ways.append(rf"[,\[]\s*(?=\{{\s*{re.escape(key[1])})")
        self._at = max(broken_at, self._at + 1)
        return bool(ways) and self._find(re.compile("|".join(ways), re.MULTILINE))

    def _more(self) -> bool:
        """Add lines to the window, at least as much again as it holds; forget what was read."""
        cut = self._text.rfind("\n", 0, self._at) + 1
        wanted = max(_CHUNK, len(self._text) - cut)
        added: list[bytes] = []
        for _, block in self.blocks:
            added.append(undressed(block))
            wanted -= len(block) + 1
            if wanted <= 0:
                break
        if not added:
            return False
        self._count_lines(cut)
        added.append(b"")
        self._text = self._text[cut:] + b"\n".join(added).decode(errors="replace")
        self._at -= cut
        self._counted -= cut
        return True

    def _count_lines(self, upto: int) -> int:
        """The number of the line at a place in the window, which only moves forward."""
        self._number += self._text.count("\n", self._counted, upto)
        self._counted = upto
        return self._number

    def _rejected(self, at: int, reason: Reason, detail: str) -> Rejected:
        begun = max(self._text.rfind("\n", 0, at) + 1, at - _SHOWN // 2)
        shown = self._text[begun : begun + _SHOWN].partition("\n")[0]
        return Rejected(self._count_lines(at), reason, detail, shown)
