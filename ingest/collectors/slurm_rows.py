"""The lines of a sacct table put together to rows. Every line becomes part of a row, or is set
aside; none is dropped.

Nothing here knows what a row means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ingest.collectors.base import Line
from ingest.collectors.slurm_columns import (
    COMMAND,
    NEVER_CUT,
    Columns,
    certain_cells,
    columns_of,
    fits,
    is_beginning,
    is_underline,
)
from ingest.collectors.slurm_states import known_state
from ingest.collectors.slurm_values import NO_TIME
from ingest.errors import UnreadableDump
from ingest.events import Reason, Rejected

_NO_COLUMNS = Columns(())
_PREAMBLE = 50  # lines that may stand before the header
_LONGEST_ROW = 25  # lines
BOM = b"\xef\xbb\xbf"
_HINT = "Dump again without Comment and SubmitLine, or with --delimiter=$'\\x1f'"
TIMES = ("Submit", "Start", "End")
UNSET = frozenset({"", "Unknown", "None", "N/A"})
NO_LENGTH = frozenset({"", "INVALID", "Unknown", "None"})
_MOST_USUAL = 100
_WORTHLESS_IF_CUT = frozenset({"Elapsed", "ElapsedRaw", "Suspended", "ExitCode", "DerivedExitCode"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table; `cut` are the columns whose values were too wide for a fixed-width
    table.
    """

    line_number: int
    line: str
    cells: dict[str, str]
    cut: frozenset[str] = frozenset()

    def rejected(self, reason: Reason, detail: str) -> Rejected:
        """The row as a line that is set aside, under the number of its first line."""
        return Rejected(self.line_number, reason, detail, self.line)


_Reader = Callable[[int, bytes], Row | None]


def rows(name: str, lines: Iterator[Line]) -> Iterator[Row | Rejected]:
    """The rows of a table in file order. Raises UnreadableDump if there is no header that says
    enough.
    """
    table = Table(name)
    for number, line, following in _with_following(lines):
        yield from table.take(number, line, following)
    yield from table.end()


@dataclass(slots=True)
class Table:
    """A table that is read line by line; `broken` are the lines that may still become a row."""

    name: str
    columns: Columns = _NO_COLUMNS
    broken: list[Line] = field(default_factory=list)
    _read: _Reader | None = None

    def take(self, number: int, line: bytes, following: bytes) -> Iterator[Row | Rejected]:
        """What is certain with this line; `following` is the next one, which tells a fixed-width
        header.
        """
        row = self._read(number, line) if self._read else None
        if row is not None and not self.broken:
            yield row
        elif (header := columns_of(line, following)) is not None:
            yield from _set_aside(self.broken, self.columns)
            place = f" in its line {number}" if self._read else ""
            self.broken, self.columns = [], _usable(self.name, header, place)
            is_fixed = bool(self.columns.spans)
            self._read = (_fixed_reader if is_fixed else _delimited_reader)(self.columns)
        elif self._read is None:
            if line.strip():
                yield _rejected(number, line, Reason.BAD_VALUE, "before the header of sacct")
            if number > _PREAMBLE:
                raise self._without_header()
        elif (line.strip() or self.broken) and not is_underline(line):
            self.broken.append((number, line))
            mended, unusable, self.broken = _mend(self.broken, self.columns, row)
            yield from _set_aside(unusable, self.columns)
            if mended:
                yield mended

    def end(self) -> Iterator[Rejected]:
        """What no line can go on any more. Raises UnreadableDump where there was no header."""
        if self._read is None:
            raise self._without_header()
        yield from _set_aside(self.broken, self.columns)

    def _without_header(self) -> UnreadableDump:
        return UnreadableDump(
            f"{self.name} has no header of sacct (made with -n, or with no column JobID?). "
            f"Dump again: {COMMAND}"
        )


def _with_following(lines: Iterator[Line]) -> Iterator[tuple[int, bytes, bytes]]:
    """Each line with the line after it, which tells a fixed-width header."""
    number, line = 0, b""
    for next_number, next_line in lines:
        if next_line.endswith(b"\r"):
            next_line = next_line[:-1]
        if number:
            yield number, line, next_line
        else:
            next_line = next_line.removeprefix(BOM)
        number, line = next_number, next_line
    if number:
        yield number, line, b""


def _usable(name: str, columns: Columns, place: str) -> Columns:
    """`place` tells the header of a later table from the first."""
    if missing := columns.missing():
        raise UnreadableDump(
            f"{name} has no column {', '.join(missing)}{place}. Dump again: {COMMAND}"
        )
    if columns.is_ambiguous():
        raise UnreadableDump(
            f"{name} separates its columns with {columns.delimiter!r}{place}, which also occurs in "
            f"them. Dump again: {COMMAND}"
        )
    return columns


def _delimited_reader(columns: Columns) -> _Reader:
    names, delimiter = columns.names, columns.delimiter
    width, looks_whole = len(names), _plausibility(names)

    def read(number: int, line: bytes) -> Row | None:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return None
        cells = text.split(delimiter)
        if len(cells) != width or not looks_whole(cells):
            return None
        return Row(number, text, dict(zip(names, cells, strict=True)))

    return read


def _fixed_reader(columns: Columns) -> _Reader:
    names, looks_whole = columns.names, _plausibility(columns.names)

    def read(number: int, line: bytes) -> Row | None:
        pieces = _fixed_pieces(columns, line)
        if pieces is None:
            return None
        is_cut = [
            piece.endswith(b"+") and len(piece) == end - start
            for piece, (start, end) in zip(pieces, columns.spans, strict=True)
        ]
        try:
            # a name may be cut in the middle of a character
            cells = [
                piece.decode(errors="ignore" if cut else "strict").strip()
                for piece, cut in zip(pieces, is_cut, strict=True)
            ]
        except UnicodeDecodeError:
            return None
        if not looks_whole(cells):
            return None
        cut = frozenset(name for name, cut in zip(names, is_cut, strict=True) if cut)
        told = dict(zip(names, cells, strict=True))
        for name in cut & _WORTHLESS_IF_CUT:
            del told[name]
        return Row(number, line.decode(errors="replace"), told, cut)

    return read


def _fixed_pieces(columns: Columns, line: bytes) -> list[bytes] | None:
    """A line by the widths of its columns: texts are cut to fit, a number that is wider than its
    column pushes what follows to the right. None if something else stands between two columns.
    """
    pieces = []
    pushed = 0
    for name, (start, end) in zip(columns.names, columns.spans, strict=True):
        upto = end + pushed
        while name in NEVER_CUT and line[upto : upto + 1].strip():
            upto += 1
        if line[upto : upto + 1].strip():
            return None
        pieces.append(line[start + pushed : upto])
        pushed = upto - end
    return None if line[columns.spans[-1][1] + pushed :].strip() else pieces


def _plausibility(names: Sequence[str]) -> Callable[[Sequence[str]], bool]:
    """A quick look at the cells that a shifted row gets wrong; it takes no regular expression."""
    state = names.index("State")
    ids = [index for index, name in enumerate(names) if name in ("JobID", "JobIDRaw")]
    times = [index for index, name in enumerate(names) if name in TIMES]
    lists = [index for index, name in enumerate(names) if name in ("AllocTRES", "ReqTRES")]
    lengths = [index for index, name in enumerate(names) if name in ("Elapsed", "Suspended")]
    rest = [index for index, name in enumerate(names) if name in ("Cluster", "WorkDir", "")]
    usual: set[tuple[int, str]] = set()

    def fits_rest(index: int, cell: str) -> bool:
        if (index, cell) in usual:
            return True
        if names[index] == "WorkDir":
            return not cell or cell.startswith("/")
        if fits(names[index], cell) and len(usual) < _MOST_USUAL:
            usual.add((index, cell))
        return fits(names[index], cell)

    def looks_whole(cells: Sequence[str]) -> bool:
        return (
            known_state(cells[state]) is not None
            and all(cells[index][:1].isdigit() for index in ids)
            and all(cells[index][:1].isdigit() or cells[index] in UNSET for index in times)
            and all("=" in cells[index] or not cells[index] for index in lists)
            and all(cells[index][:1].isdigit() or cells[index] in NO_LENGTH for index in lengths)
            and all(fits_rest(index, cells[index]) for index in rest)
        )

    return looks_whole


def _mend(
    broken: list[Line], columns: Columns, whole: Row | None
) -> tuple[Row | None, list[Line], list[Line]]:
    """A row that ends with the newest line, the lines given up, the lines that may still go on.

    `whole` is the newest line, if that looks like a row. It may as well be part of a text that an
    earlier line began: with two ways to see the lines, they are given up.
    """
    if columns.spans:
        return whole, broken[: len(broken) - bool(whole)], []
    ways = [
        (start, row)
        for start in range(len(broken))
        if (row := _certain_row(broken[start:], columns))
    ]
    if whole and (not ways or ways[-1][0] != len(broken) - 1):
        ways.append((len(broken) - 1, whole))
    if ways:
        start, row = ways[0]
        return (row, broken[:start], []) if len(ways) == 1 else (None, broken, [])
    if _misfit(broken[-1][1], columns):
        return None, broken, []
    first = len(broken) - 1 if len(broken) > _LONGEST_ROW else 0
    for start in range(first, len(broken)):
        if _may_go_on(broken[start:], columns):
            return None, broken[:start], broken[start:]
    return None, broken, []


def _certain_row(lines: list[Line], columns: Columns) -> Row | None:
    text = _text(lines)
    cells = certain_cells(columns, text.split(columns.delimiter)) if text is not None else None
    if text is None or cells is None:
        return None
    return Row(lines[0][0], text, cells)


def _may_go_on(lines: list[Line], columns: Columns) -> bool:
    text = _text(lines)
    return text is not None and is_beginning(columns, text.split(columns.delimiter))


def _text(lines: list[Line]) -> str | None:
    try:
        return b"\n".join(line for _, line in lines).decode()
    except UnicodeDecodeError:
        return None


def _misfit(line: bytes, columns: Columns) -> str | None:
    """The one column that a line gets wrong: it is a row of its own, not a part of a broken one."""
    text = _text([(0, line)])
    cells = text.split(columns.delimiter) if text is not None and not columns.spans else []
    if len(cells) != len(columns.names):
        return None
    wrong = [name for name, cell in zip(columns.names, cells, strict=True) if not fits(name, cell)]
    return wrong[0] if len(wrong) == 1 else None


def _set_aside(lines: list[Line], columns: Columns) -> Iterator[Rejected]:
    if lines and _misfit(lines[-1][1], columns):
        yield from _set_aside_alike(lines[:-1], columns)
        yield _rejected(*lines[-1], *_diagnosis(lines[-1][1], columns))
    else:
        yield from _set_aside_alike(lines, columns)


def _set_aside_alike(lines: list[Line], columns: Columns) -> Iterator[Rejected]:
    if len(lines) == 1:
        yield _rejected(*lines[0], *_diagnosis(lines[0][1], columns))
    elif lines:
        first, last = lines[0][0], lines[-1][0]
        detail = (
            f"where rows begin and end in lines {first} to {last} is not certain; "
            f"line breaks in JobName, Comment or SubmitLine? {_HINT}"
        )
        for number, line in lines:
            is_text = _text([(number, line)]) is not None
            yield _rejected(number, line, Reason.BAD_VALUE if is_text else Reason.NOT_UTF8, detail)


def _diagnosis(line: bytes, columns: Columns) -> tuple[Reason, str]:
    text = _text([(0, line)])
    if text is None:
        return Reason.NOT_UTF8, "the line is not UTF-8"
    if columns.spans:
        return (
            Reason.BAD_VALUE,
            "no known state, id or times within the widths of the header's dashes. "
            "Dump again with -P",
        )
    cells = text.split(columns.delimiter)
    if len(cells) == len(columns.names):
        for name, cell in zip(columns.names, cells, strict=True):
            if not fits(name, cell):
                is_time = name in (*TIMES, "Eligible")
                return (
                    Reason.BAD_TIMESTAMP if is_time else Reason.BAD_VALUE,
                    f"{name} is {cell[:80]!r}{f': {NO_TIME}' if is_time else ''}",
                )
    return (
        Reason.BAD_VALUE,
        f"{len(cells)} cells for {len(columns.names)} columns, no telling which is which. {_HINT}",
    )


def _rejected(number: int, line: bytes, reason: Reason, detail: str) -> Rejected:
    return Rejected(number, reason, detail, line.decode(errors="replace"))
