"""The usual lines of large or many `events` dumps: whether they can be read, and as rows for the
engine.

What reads them is loaded only where there is much to read.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

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
    """Whether dumps of so many bytes are better read here, and can be."""
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


class Held:
    """Columns in memory that the engine asks for whenever it reads them: a table of Arrow's it
    would hold on to until the transaction ends.
    """

    def __init__(self) -> None:
        self.table: pa.Table | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        assert self.table is not None
        return self.table.__arrow_c_stream__(requested_schema)


@dataclass(slots=True)
class Rows:
    """The usual lines of dumps of one source. `cluster`: the reader's word on it.

    What says no more than plain events stands apart, as it does in the warehouse.
    """

    file_nos: Sequence[int]
    source_no: int
    cluster: str | None
    plain: Held = field(default_factory=Held)
    more: Held = field(default_factory=Held)

    @property
    def name(self) -> str:
        return f"usual_{self.file_nos[0]}"

    @property
    def more_name(self) -> str:
        return f"usual_more_{self.file_nos[0]}"


def take(
    connection: duckdb.DuckDBPyConnection,
    rows: Rows,
    found: Sequence[dumps.DumpFile],
    copies: Path,
    latest_us: int,
    memory_bytes: int,
) -> list[LeftOver] | None:
    """Let the usual lines of the dumps of `rows` be what `good_rows` reads; the others are copied
    into the folder `copies`, to a file for each dump that has any.

    They are held in memory, of which the engine has `memory_bytes`. Where there may be too many,
    those that say no more than plain events go into a table, and all others are copied. None: most
    lines are others, or a dump cannot be read to its end. Raises OSError, UnreadableDump and
    duckdb.Error.
    """
    import pyarrow as pa

    from ingest import usual_lines

    left_overs = [
        usual_lines.LeftOver(number, copies / f"left-{number}") for number in rows.file_nos
    ]
    for each in left_overs:
        each.path.unlink(missing_ok=True)  # of one that was killed
    more: list[pa.RecordBatch] = []
    is_plain = all(dump.compression == "none" for dump in found)
    if is_plain and sum(dump.bytes for dump in found) <= memory_bytes * _HELD_SHARE:
        reading = _Reading(found, left_overs, latest_us, more)
        rows.plain.table = pa.Table.from_batches(reading, schema=_schema(rows, usual_lines.SCHEMA))
        rows.more.table = pa.Table.from_batches(more, schema=_schema(rows, usual_lines.MORE))
        connection.register(rows.name, rows.plain)
        connection.register(rows.more_name, rows.more)
    else:
        reading = _Reading(found, left_overs, latest_us, None)
        told = pa.RecordBatchReader.from_batches(_schema(rows, usual_lines.SCHEMA), reading)
        connection.register(f"{rows.name}_told", told)
        try:
            connection.execute(f"create or replace temp table {rows.name} as from {rows.name}_told")
        finally:
            connection.unregister(f"{rows.name}_told")
    if reading.is_whole:
        return left_overs
    forget(connection, rows)
    return None


def _schema(rows: Rows, columns: pa.Schema) -> pa.Schema:
    from ingest import usual_lines

    return columns if len(rows.file_nos) == 1 else columns.append(usual_lines.FILE_NO)


def good_rows(rows: Rows) -> str:
    """A select of these rows, as `native.good_rows` gives those of other dumps."""
    from ingest import usual_lines

    plain = _good_rows(rows, rows.name, usual_lines.SCHEMA.names)
    table = rows.more.table
    if table is None or table.num_rows == 0:
        return plain
    # a column that nothing fills costs as much to keep as any other
    told = [name for name in usual_lines.MORE.names if table[name].null_count < table.num_rows]
    return f"{plain} union all by name {_good_rows(rows, rows.more_name, told)}"


def _good_rows(rows: Rows, name: str, told: Sequence[str]) -> str:
    from ingest import usual_kernel

    words = {
        "event": usual_kernel.KINDS,
        "phase": usual_kernel.PHASES,
        "mode": usual_kernel.MODES,
        "cache": usual_kernel.CACHES,
        "outcome": usual_kernel.OUTCOMES,
    }
    meant = {field: f'"{field}"' for field in told} | {"attempt": "coalesce(attempt, 1)"}
    meant |= {field: _word(field, words[field]) for field in told if field in words}
    if "ok" in told:
        meant["ok"] = "ok = 1"
    if rows.cluster is not None:
        # the dump's own word on its cluster is stronger than the reader's
        reader = "'" + rows.cluster.replace("'", "''") + "'"
        meant["cluster"] = f"coalesce(cluster, {reader})" if "cluster" in told else reader
    columns = ", ".join(f"{value} as {fields.column(name)}" for name, value in meant.items())
    says_more = rows.cluster is not None or name == rows.more_name
    file_no = f"cast({rows.file_nos[0]} as integer)" if len(rows.file_nos) == 1 else "file_no"
    return (
        f"select {file_no} as file_no, "
        f"cast({rows.source_no} as integer) as source_no, {columns}, "
        f"{'true' if says_more else 'false'} as says_more from {name}"
    )


def release(rows: Rows) -> None:
    """Let go of what is held in memory: nobody reads it any more."""
    from ingest import usual_lines

    rows.plain.table = rows.more.table = None
    usual_lines.release()


def forget(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    """Drop what `take` made."""
    release(rows)
    connection.unregister(rows.name)
    connection.unregister(rows.more_name)
    connection.execute(f"drop table if exists temp.{rows.name}")


def _word(name: str, words: Sequence[str]) -> str:
    """To look a word up in a list takes a tenth of the time that it takes to read it."""
    listed = ", ".join(f"'{word}'" for word in words)
    return f"cast([{listed}] as {fields.ENUMS[name]}[])[{name} + 1]"


class _Reading:
    """The batches of dumps, as far as they go; `is_whole` once all of them were read."""

    def __init__(
        self,
        found: Sequence[dumps.DumpFile],
        left_overs: Sequence[LeftOver],
        latest_us: int,
        more: list[pa.RecordBatch] | None,
    ) -> None:
        self._found = found
        self._left_overs = left_overs
        self._latest_us = latest_us
        self._more = more
        self._breaks_off = False
        self.is_whole = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from ingest import usual_lines

        try:
            yield from usual_lines.read(
                self._streams(), self._left_overs, self._latest_us, self._more
            )
        except usual_lines.NotUsual:
            return
        self.is_whole = not self._breaks_off

    def _streams(self) -> Iterator[BinaryIO]:
        for dump in self._found:
            with dumps.opened(dump) as stream:
                yield stream
                self._breaks_off |= getattr(stream.raw, "fault", None) is not None
