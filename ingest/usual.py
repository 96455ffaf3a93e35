"""The usual lines of large `events` dumps: whether they can be read, and as rows for the engine.

What reads them is loaded only for a dump that is large.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from ingest import dumps, fields

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.usual_lines import LeftOver

# of less the engine makes as short work as loading the kernel takes
_FEWEST_BYTES = 128 * 1024 * 1024
_HELD_SHARE = 1.0  # of the engine's memory: columns take 0.4 of the room of their lines
_FOLDER = Path(__file__).parent
_STAMP = _FOLDER / "__pycache__" / "usual_kernel.ready"
_COMPILED = ("usual_kernel.py", "usual_lines.py", "fields.py")


def reads(bytes: int) -> bool:
    """Whether a dump of so many bytes is better read here, and can be."""
    return bytes >= _FEWEST_BYTES and is_ready()


@cache
def is_ready() -> bool:
    """Whether the kernel was compiled, as it is now, and can be loaded: `make install` sees to it.

    To compile it takes longer than it saves of all but the largest dumps.
    """
    try:
        return os.access(_STAMP.parent, os.W_OK) and _STAMP.read_text("utf-8") == _stamp()
    except OSError:
        return False


def prepare() -> None:
    """Compile the kernel, and keep it beside its source, where that is not done."""
    if is_ready():
        return
    for path in _STAMP.parent.glob("usual_kernel.*.nb?"):
        path.unlink()
    _load()
    _STAMP.write_text(_stamp(), "utf-8")


@cache
def load_beside() -> None:
    """Begin to load the kernel, half a second, while something else is done."""
    threading.Thread(target=_load, daemon=True).start()


def _load() -> None:
    from ingest import usual_lines

    usual_lines.load()


def _stamp() -> str:
    """Of what is compiled, and for which types it is called."""
    digest = hashlib.sha256(b"".join((_FOLDER / name).read_bytes() for name in _COMPILED))
    return f"{sys.implementation.cache_tag} {version('numba')} {digest.hexdigest()}\n"


@dataclass(slots=True)
class Rows:
    """The usual lines of one dump. `cluster`: the reader's word on it.

    What is `held` the engine asks for whenever it reads them: the table itself it would hold on to
    until the transaction ends.
    """

    file_no: int
    source_no: int
    cluster: str | None
    held: pa.Table | None = None

    @property
    def name(self) -> str:
        return f"usual_{self.file_no}"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        assert self.held is not None
        return self.held.__arrow_c_stream__(requested_schema)


def take(
    connection: duckdb.DuckDBPyConnection,
    rows: Rows,
    dump: dumps.DumpFile,
    copy: Path,
    latest_us: int,
    memory_bytes: int,
) -> LeftOver | None:
    """Let the usual lines of a dump be what `good_rows` reads; the others are copied to `copy`.

    They are held in memory, of which the engine has `memory_bytes`, or go into a table where there
    may be too many. None: most lines are others, or the dump cannot be read to its end. Raises
    OSError, UnreadableDump and duckdb.Error.
    """
    import pyarrow as pa

    from ingest import usual_lines

    left_over = usual_lines.LeftOver(copy)
    reading = _Reading(dump, left_over, latest_us)
    if dump.compression == "none" and dump.bytes <= memory_bytes * _HELD_SHARE:
        rows.held = pa.Table.from_batches(reading, schema=usual_lines.SCHEMA)
        connection.register(rows.name, rows)
    else:
        told = pa.RecordBatchReader.from_batches(usual_lines.SCHEMA, reading)
        connection.register(f"{rows.name}_told", told)
        connection.execute(f"create or replace temp table {rows.name} as from {rows.name}_told")
        connection.unregister(f"{rows.name}_told")
    if reading.is_whole:
        return left_over
    forget(connection, rows)
    return None


def good_rows(rows: Rows) -> str:
    """A select of these rows, as `native.good_rows` gives those of other dumps."""
    from ingest import usual_kernel, usual_lines

    words = {
        "event": usual_kernel.KINDS,
        "phase": usual_kernel.PHASES,
        "mode": usual_kernel.MODES,
    }
    meant = {name: _word(name, told) for name, told in words.items()}
    meant |= {"attempt": "coalesce(attempt, 1)", "ok": "ok = 1"}
    columns = [f"{meant.get(name, name)} as {name}" for name in usual_lines.SCHEMA.names]
    if rows.cluster is not None:
        columns.append("'" + rows.cluster.replace("'", "''") + "' as cluster")
    return (
        f"select cast({rows.file_no} as integer) as file_no, "
        f"cast({rows.source_no} as integer) as source_no, {', '.join(columns)}, "
        f"{'false' if rows.cluster is None else 'true'} as says_more from {rows.name}"
    )


def release(rows: Rows) -> None:
    """Let go of what is held in memory: nobody reads it any more."""
    from ingest import usual_lines

    rows.held = None
    usual_lines.release()


def forget(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    """Drop what `take` made."""
    release(rows)
    connection.unregister(rows.name)
    connection.execute(f"drop table if exists temp.{rows.name}")


def _word(name: str, words: Sequence[str]) -> str:
    """To look a word up in a list takes a tenth of the time that it takes to read it."""
    listed = ", ".join(f"'{word}'" for word in words)
    return f"cast([{listed}] as {fields.ENUMS[name]}[])[{name} + 1]"


class _Reading:
    """The batches of a dump, as far as they go; `is_whole` once all of it was read."""

    def __init__(self, dump: dumps.DumpFile, left_over: LeftOver, latest_us: int) -> None:
        self._dump = dump
        self._left_over = left_over
        self._latest_us = latest_us
        self.is_whole = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from ingest import usual_lines

        with dumps.opened(self._dump) as stream:
            try:
                yield from usual_lines.read(stream, self._left_over, self._latest_us)
            except usual_lines.NotUsual:
                return
            self.is_whole = getattr(stream.raw, "fault", None) is None
