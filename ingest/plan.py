"""Which of the files that were given are to be loaded, as what, and in which batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ingest import dumps, rotation, unpacking, usual
from ingest.collectors.base import Reading
from ingest.collectors.training_log_patterns import Pattern
from ingest.errors import UnreadableDump
from ingest.foreign import told_of
from ingest.formats import Format, format_of
from ingest.known import Known, Row
from ingest.ledger import Incoming
from ingest.words import counted

BATCH_FILES = 2_000
EMPTY = "is empty"
_BATCH_BYTES = 1024 * 1024 * 1024
_BATCH_SHARE = 2.0  # of the engine's memory: 512 MB fit in 256 MiB
_NAME_IT = "Is it a dump? Then name its format with --format"
_COMPRESSION_RATIO = 12  # a batch is bounded by what it unpacks to


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not loaded, and why; `detail` is of this one alone.

    `known_as`: the ledger's number of its content; `is_mute`: all that this told was set aside.
    """

    name: str
    why: str
    detail: str = ""
    known_as: int | None = None
    is_mute: bool = False

    @property
    def whole_why(self) -> str:
        return self.why + self.detail


def look_at(
    known: Known,
    file: dumps.DumpFile,
    forced: Format | None,
    advance: Callable[[int], None],
    own: tuple[Pattern, ...] = (),
    *,
    may_be_read_beside: bool = False,
    asked: Reading | None = None,
) -> Incoming | Skipped:
    """What to do with a file: its content tells its format, and known content loads once.

    `known` was asked of it among others; `own`: what the lines of the user's trainers mean.
    `may_be_read_beside`: a large dump that is surely new need not be read to its end first.
    `asked`: how it would be read; a known dump that was read otherwise is said to be.
    """
    if file.bytes == 0:
        return Skipped(file.name, EMPTY)
    try:
        unpacking.refuse_bomb(file)
        head = dumps.head(file)
        unpacking.refuse_archive(head)
        format = forced or format_of(file, head, own)
        if format is None:
            advance(file.bytes)
            return Skipped(file.name, _unrecognised(file, head))
        names = rotation.names_of(file)
        earlier = known.named(names)
        shorter = [row for row in earlier if row.bytes < file.bytes]
        is_usual = format.collector is None and usual.reads(file.bytes)
        is_new = not earlier and known.is_alone(file.bytes)
        if is_usual and is_new and may_be_read_beside and file.compression == "none":
            usual.load_beside()
            advance(file.bytes)
            return Incoming(file, format, dumps.fingerprint_beside(file), None)
        fingerprint = dumps.fingerprint(
            file,
            [row.bytes for row in shorter],
            advance,
            counts_keys=format.collector is None and not is_usual,
        )
    except (OSError, UnreadableDump) as error:
        return Skipped(file.name, f"cannot be read: {error}")
    mistaken = None
    for row in known.of_content(file.bytes, fingerprint.sha256):
        if row.name in names or not format.is_named_by_path:
            if row.format == format.name or not row.is_mute:
                return _loaded_already(known, file, row, format, asked)
            mistaken = row.file_no  # as what it was read it told nothing
    if not is_usual:  # of a usual one the loader sees it, as it unpacks it
        try:
            unpacking.refuse_damaged(file)
        except (OSError, UnreadableDump) as error:
            return Skipped(file.name, f"cannot be read: {error}")
    given = rotation.own_names(file)
    grown = [
        row.file_no
        for row in shorter
        if fingerprint.prefixes.get(row.bytes) == row.sha256
        and (row.name in given or _has_become(row, format))
    ]
    if not grown and file.compression != "none":
        others = [name for name in names if name not in given]
        return _unpacked(known, Incoming(file, format, fingerprint, mistaken), others, asked)
    return Incoming(file, format, fingerprint, grown[-1] if grown else mistaken)


def _unpacked(
    known: Known, one: Incoming, names: Sequence[str], asked: Reading | None
) -> Incoming | Skipped:
    """A compressed dump, or why not: a log that was rotated is loaded under its earlier name."""
    rows = [row for row in known.named(names) if row.format == one.format.name]
    if not rows:
        return one
    try:
        found, end = rotation.unpacked(one.file, {row.bytes for row in rows})
    except (OSError, UnreadableDump) as error:
        return Skipped(one.file.name, f"cannot be read: {error}")
    for row in reversed(rows):
        if found.get(row.bytes) == row.sha256:
            if row.bytes == end:
                return _loaded_already(known, one.file, row, one.format, asked)
            is_it = _has_become(row, one.format)
            return replace(one, grown_from=row.file_no) if is_it else one
    return one


def _has_become(row: Row, format: Format) -> bool:
    """Whether a dump that begins with the content of a row is the same file under a later name. A
    text that begins like another one may be another job's: not while that one lies where it was.
    """
    return format.collector is None or not dumps.begins_with(Path(row.name), row.bytes, row.sha256)


def _loaded_already(
    known: Known, file: dumps.DumpFile, row: Row, format: Format, asked: Reading | None
) -> Skipped:
    detail = f", as {row.format} from {row.name}"
    if row.format != format.name:
        detail += f". As {format.name} it can be loaded into a new folder (--warehouse)"
    elif asked is not None and (otherwise := _read_otherwise(row, format, asked)):
        detail += f". It was read with {otherwise}; as it is asked for now it can be loaded into a "
        detail += "new folder (--warehouse)"
    elif asked is not None and (ahead := known.ahead(row.file_no)):
        detail += f". {counted(ahead, 'line')} of it lay over 24 h ahead of the clock of then. If "
        detail += "that was wrong, it can be loaded into a new folder (--warehouse)"
    return Skipped(file.name, "is loaded already", detail, row.file_no, row.is_mute)


def _read_otherwise(row: Row, format: Format, asked: Reading) -> str:
    """The options that a known dump was read with, where others are given now; else nothing. Times
    of the native format tell their zone, and who gives no cluster asks for none.
    """
    was = []
    if format.collector is not None and row.time_zone not in (None, asked.timezone.key):
        was.append(f"--timezone {row.time_zone}")
    if asked.cluster is not None and asked.cluster != row.cluster:
        was.append("no --cluster" if row.cluster is None else f"--cluster {row.cluster}")
    return " and ".join(was)


def _unrecognised(file: dumps.DumpFile, head: bytes) -> str:
    if head.strip():
        foreign = told_of(head)
        hint = f": it looks like {foreign}" if foreign else f". {_NAME_IT}"
        return f"has no format that is known{hint}"
    if head:
        return "is blank"
    is_empty = dumps.holds_nothing(file)
    return EMPTY if is_empty else f"gives no line: its {file.compression} stream is broken"


def batches(incoming: Iterator[Incoming], memory_bytes: int) -> Iterator[list[Incoming]]:
    """Group dumps so that a transaction is large enough to be cheap and small enough for the
    `memory_bytes` that the engine may take.
    """
    most = min(_BATCH_BYTES, memory_bytes * _BATCH_SHARE)
    batch: list[Incoming] = []
    size = 0
    for one in incoming:
        if batch and (size + weight(one) > most or len(batch) >= BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += weight(one)
    if batch:
        yield batch


def weight(one: Incoming) -> int:
    """How many bytes it has, about, once it is unpacked."""
    return one.file.bytes * (1 if one.file.compression == "none" else _COMPRESSION_RATIO)
