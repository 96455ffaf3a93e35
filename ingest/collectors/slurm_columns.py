"""The columns of a sacct table: which they are, how a line is cut into them, which cells of a
broken row are certain.

`sacct -P` escapes nothing: a delimiter or a line break in a job's name or comment moves all that
follows. A cell of such a row is believed only if every way to lay the row over its columns agrees
on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.collectors.slurm_states import known_state

NEEDED = ("State", "Start", "End")
# all columns: which of them a release has differs, and one without Restarts parts a job that was
# requeued after its end (25.11.3 on) from itself
COMMAND = "SLURM_TIME_FORMAT=%s sacct -a -D -P -o ALL -S 2026-01-01"

_IDS = frozenset({"JobID", "JobIDRaw"})
_TIMES = frozenset({"Submit", "Eligible", "Start", "End"})
_DURATIONS = frozenset(
    [
        "Elapsed",
        "Suspended",
        "Timelimit",
        "Reserved",
        "Planned",
        "ResvCPU",
        "PlannedCPU",
        "CPUTime",
        "TotalCPU",
        "SystemCPU",
        "UserCPU",
    ]
)
_NUMBERS = frozenset(
    [
        "AllocCPUS",
        "AllocNodes",
        "AssocID",
        "CPUTimeRAW",
        "DBIndex",
        "ElapsedRaw",
        "GID",
        "NCPUS",
        "NNodes",
        "NTasks",
        "PlannedCPURAW",
        "Priority",
        "QOSRAW",
        "ReqCPUS",
        "ReservationId",
        "Restarts",
        "ResvCPURAW",
        "TimelimitRaw",
        "UID",
        "WCKeyID",
    ]
)
NEVER_CUT = _NUMBERS | _DURATIONS  # sacct cuts texts only to the width of a column
_EXIT_CODES = frozenset({"ExitCode", "DerivedExitCode"})
_TRES = frozenset({"AllocTRES", "ReqTRES"})
_WORDS = frozenset({"User", "Account", "Partition", "QOS"})
_CLUSTERS = frozenset({"Cluster"})
_FREE = frozenset(
    [
        "JobName",
        "Comment",
        "AdminComment",
        "SystemComment",
        "WorkDir",
        "SubmitLine",
        "Container",
        "Constraints",
        "Extra",
        "StdIn",
        "StdOut",
        "StdErr",
    ]
)
_OTHERS = frozenset(
    [
        "State",
        "NodeList",
        "Reason",
        "AllocGRES",
        "ReqGRES",
        "Flags",
        "Layout",
        "Licenses",
        "McsLabel",
        "ReqMem",
        "ReqNodes",
        "Reservation",
        "WCKey",
        "FailedNode",
        "Group",  # may be two words: domain users
        "QOSREQ",
        "BlockID",
        "ConsumedEnergy",
        "MaxRSS",
        "MaxVMSize",
        "AveRSS",
        "AveCPU",
        "MinCPU",
    ]
)
_KNOWN = (
    _IDS
    | _TIMES
    | _DURATIONS
    | _NUMBERS
    | _EXIT_CODES
    | _TRES
    | _WORDS
    | _CLUSTERS
    | _FREE
    | _OTHERS
)
_EVIDENCE = (
    _IDS
    | _TIMES
    | _EXIT_CODES
    | _TRES
    | _WORDS
    | _CLUSTERS
    | {"State", "Elapsed", "ElapsedRaw", "Suspended"}
)  # a broken row is used only if all of these are certain

_UNSAFE_DELIMITER = re.compile(r"[\w:.+/=%\[\]-]|^ +$")
_LISTS = ("AllocTRES", "ReqTRES", "NodeList", "TRESUsage", "Flags", "Partition")
_DASHES = re.compile(rb"-+(?: -+)+ *")
_SHAPES = (
    (_IDS, r"\d[\d_+,%\[\]-]*(?:\.\S+)?"),
    (_TIMES, r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*|\d{9,11}(?:\.\d+)?|0|Unknown|None|N/A|"),
    (_DURATIONS, r"(?:\d+-)?\d+:\d\d(?::\d\d)?(?:\.\d+)?|INVALID|UNLIMITED|Partition_Limit|"),
    (_NUMBERS, r"-?\d*"),
    (_EXIT_CODES, r"-?\d+:\d+|"),
    (_TRES, r"[^=,\s]+=[^,\s]*(?:,[^=,\s]+=[^,\s]*)*|"),
    (_CLUSTERS, r"[\w.-]*"),
    (_WORDS, r"""[^\s"'`{}]*"""),
    (frozenset({"TimelimitRaw"}), r"\d*|UNLIMITED|Partition_Limit"),  # a number, and no other words
)
_SHAPE = {name: re.compile(shape) for names, shape in _SHAPES for name in names}
_ANYTHING = re.compile(r"[^\n]*")
_MOST_EXTRA = 64  # delimiters inside free texts of one row
_END_OF_ROW = ""  # the column after a trailing delimiter


@dataclass(frozen=True, slots=True)
class Columns:
    """A table's columns; `spans` are the bytes of each in a fixed-width table, which has no
    delimiter.
    """

    names: tuple[str, ...]
    delimiter: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def missing(self) -> list[str]:
        """The columns without which no row can be an event."""
        needed = [name for name in NEEDED if name not in self.names]
        return needed if _IDS & set(self.names) else ["JobID", *needed]

    def is_ambiguous(self) -> bool:
        """Whether the delimiter also occurs inside cells that are lists, times or numbers."""
        if self.delimiter != ",":
            return bool(self.delimiter and _UNSAFE_DELIMITER.search(self.delimiter))
        return any(name.startswith(_LISTS) for name in self.names)


def columns_of(line: bytes, underline: bytes) -> Columns | None:
    """The columns that a header line names; `underline` is the line after it, dashes under a
    fixed-width header.
    """
    if is_underline(underline):
        return _fixed_columns(line, underline)
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return None
    between = re.match(r"[A-Za-z]+([^A-Za-z]+)(?=[A-Za-z])", text)
    names = tuple(text.split(between[1])) if between else ()
    return Columns(names, delimiter=between[1]) if between and _is_header(names) else None


def is_underline(line: bytes) -> bool:
    """Whether a line is the dashes under a fixed-width header."""
    return _DASHES.fullmatch(line) is not None


def fits(name: str, cell: str) -> bool:
    """Whether a cell can belong to a column."""
    if name in _FREE:
        return True
    if name == "State":
        return known_state(cell) is not None
    if name == _END_OF_ROW:
        return not cell
    return _SHAPE.get(name, _ANYTHING).fullmatch(cell) is not None


def is_beginning(columns: Columns, pieces: Sequence[str]) -> bool:
    """Whether the pieces can be a row up to a line break inside a free text."""
    firm = next((index for index, name in enumerate(columns.names) if name in _FREE), len(pieces))
    if len(pieces) > len(columns.names) + _MOST_EXTRA:
        return False
    return len(pieces) > firm and all(map(fits, columns.names[:firm], pieces))


def certain_cells(columns: Columns, pieces: Sequence[str]) -> dict[str, str] | None:
    """The cells that every way to lay the pieces over the columns agrees on.

    Free texts may take several pieces, all other cells take one of their own shape. None if there
    is no way, or if the ways differ on a cell that is evidence.
    """
    if not 0 <= len(pieces) - len(columns.names) <= _MOST_EXTRA:
        return None
    if not _ends_fit(columns.names, pieces):
        return None
    ways = _ways(columns.names, pieces)
    if ways is None:
        return None
    cells: dict[str, str] = {}
    for name, (starts, ends) in zip(columns.names, ways, strict=True):
        readings = {
            columns.delimiter.join(pieces[start:end])
            for start in starts
            for end in ends
            if (end > start if name in _FREE else end == start + 1)
        }
        if len(readings) == 1:
            cells[name] = readings.pop()
        elif name in _EVIDENCE:
            return None
    return cells


def _ends_fit(names: Sequence[str], pieces: Sequence[str]) -> bool:
    """A quick look at the cells before the first free text and after the last."""
    free = [index for index, name in enumerate(names) if name in _FREE]
    head = min(free, default=len(names))
    tail = len(names) - 1 - max(free, default=-1)
    return all(map(fits, names[:head], pieces)) and all(
        map(fits, names[len(names) - tail :], pieces[len(pieces) - tail :])
    )


def _ways(
    names: Sequence[str], pieces: Sequence[str]
) -> list[tuple[frozenset[int], frozenset[int]]] | None:
    """For each column the pieces at which it can begin and end, in ways that use all pieces."""
    reached = [frozenset({0})]
    for index, name in enumerate(names):
        most = len(pieces) - (len(names) - index - 1)
        ends = _ends(name, reached[-1], pieces, most)
        if not ends:
            return None
        reached.append(frozenset(ends))
    kept = frozenset({len(pieces)} & reached[-1])
    ways = []
    for index in range(len(names) - 1, -1, -1):
        name = names[index]
        before = frozenset(
            start for start in reached[index] if kept & _ends(name, {start}, pieces, len(pieces))
        )
        ways.append((before, kept))
        kept = before
    return ways[::-1] if kept else None


def _ends(
    name: str, starts: frozenset[int] | set[int], pieces: Sequence[str], most: int
) -> set[int]:
    if name == "WorkDir":
        starts = {
            start for start in starts if pieces[start : start + 1] and _is_path(pieces[start])
        }
    if not starts:
        return set()
    if name in _FREE:
        return set(range(min(starts) + 1, most + 1))
    return {
        start + 1
        for start in starts
        if start < min(most, len(pieces)) and fits(name, pieces[start])
    }


def _is_path(piece: str) -> bool:
    return not piece or piece.startswith("/")


def _is_header(names: tuple[str, ...]) -> bool:
    named = names[:-1] if names[-1] == _END_OF_ROW else names
    known = _KNOWN.intersection(named)
    return bool(_IDS & known) and len(known) >= 3 and all(name.isalpha() for name in named)


def _fixed_columns(line: bytes, underline: bytes) -> Columns | None:
    spans = tuple((found.start(), found.end()) for found in re.finditer(rb"-+", underline))
    heads = (line[start:end].decode(errors="replace").strip() for start, end in spans)
    names = tuple(
        _whole_name(head, end - start) for head, (start, end) in zip(heads, spans, strict=True)
    )
    return Columns(names, spans=spans) if _is_header(names) else None


def _whole_name(head: str, width: int) -> str:
    """A column's name that is wider than the column is cut off without a sign."""
    if head in _KNOWN or len(head) < width:
        return head
    whole = [name for name in _KNOWN if name.startswith(head)]
    return whole[0] if len(whole) == 1 else head
