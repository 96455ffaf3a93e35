"""The usual lines of large `events` dumps: whether they can be read, and as rows for the engine.

What reads them is loaded only for a dump that is large.
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
    """The usual lines of one dump. `cluster`: the reader's word on it.

    What says no more than plain events stands apart, as it does in the warehouse.
    """

    file_no: int
    source_no: int
    cluster: str | None
    plain: Held = field(default_factory=Held)
    more: Held = field(default_factory=Held)

    @property
    def name(self) -> str:
        return f"usual_{self.file_no}"

    @property
    def more_name(self) -> str:
        return f"usual_more_{self.file_no}"


def take(
    connection: duckdb.DuckDBPyConnection,
    rows: Rows,
    dump: dumps.DumpFile,
    copy: Path,
    latest_us: int,
    memory_bytes: int,
) -> LeftOver | None:
    """Let the usual lines of a dump be what `good_rows` reads; the others are copied to `copy`.

    They are held in memory, of which the engine has `memory_bytes`. Where there may be too many,
    those that say no more than plain events go into a table, and all others to `copy`. None: most
    lines are others, or the dump cannot be read to its end. Raises OSError, UnreadableDump and
    duckdb.Error.
    """
    import pyarrow as pa

    from ingest import usual_lines

    left_over = usual_lines.LeftOver(copy)
    more: list[pa.RecordBatch] = []
    if dump.compression == "none" and dump.bytes <= memory_bytes * _HELD_SHARE:
        reading = _Reading(dump, left_over, latest_us, more)
        rows.plain.table = pa.Table.from_batches(reading, schema=usual_lines.SCHEMA)
        rows.more.table = pa.Table.from_batches(more, schema=usual_lines.MORE)
        connection.register(rows.name, rows.plain)
        connection.register(rows.more_name, rows.more)
    else:
        reading = _Reading(dump, left_over, latest_us, None)
        told = pa.RecordBatchReader.from_batches(usual_lines.SCHEMA, reading)
        connection.register(f"{rows.name}_told", told)
        try:
            connection.execute(f"create or replace temp table {rows.name} as from {rows.name}_told")
        finally:
            connection.unregister(f"{rows.name}_told")
    if reading.is_whole:
        return left_over
    forget(connection, rows)
    return None


def good_rows(rows: Rows) -> str:
    """A select of these rows, as `native.good_rows` gives those of other dumps."""
    from ingest import usual_lines

    plain = _good_rows(rows, rows.name, usual_lines.SCHEMA.names)
    table = rows.more.table
    if table is None or table.num_rows == 0:
        return plain
    # a column that nothing fills costs as much to keep as any other
    told = [name for name in table.column_names if table[name].null_count < table.num_rows]
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
    return (
        f"select cast({rows.file_no} as integer) as file_no, "
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
    """The batches of a dump, as far as they go; `is_whole` once all of it was read."""

    def __init__(
        self,
        dump: dumps.DumpFile,
        left_over: LeftOver,
        latest_us: int,
        more: list[pa.RecordBatch] | None,
    ) -> None:
        self._dump = dump
        self._left_over = left_over
        self._latest_us = latest_us
        self._more = more
        self.is_whole = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from ingest import usual_lines

        with dumps.opened(self._dump) as stream:
            try:
                yield from usual_lines.read(stream, self._left_over, self._latest_us, self._more)
            except usual_lines.NotUsual:
                return
            self.is_whole = getattr(stream.raw, "fault", None) is None
