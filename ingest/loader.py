"""One batch of dumps into the warehouse, in one transaction: events, rejects, ledger and facts.

After `kill -9` a batch is wholly there or wholly not. Publishes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from ingest import dumps, explain, facts, native, rejects, store, text
from ingest.collectors.base import Reading
from ingest.events import Rejected
from ingest.formats import Format
from ingest.moment import Moment
from ingest.settings import Settings
from ingest.warehouse import Warehouse, scratch

_TOGETHER_BYTES = 32 * 1024 * 1024  # smaller native files are parsed in one statement


@dataclass(frozen=True, slots=True)
class Incoming:
    """A dump that is to be loaded: its file, its format, and what reading it once told.

    `grown_from` is the ledger's number of the same file when it was shorter.
    """

    file: dumps.DumpFile
    format: Format
    fingerprint: dumps.Fingerprint
    grown_from: int | None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file brought. `unreadable` says why it brought nothing at all."""

    name: str
    events: int
    rejected: dict[str, int]
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class _Numbered:
    """An incoming dump with its numbers in the warehouse and a name that is safe in SQL."""

    incoming: Incoming
    file_no: int
    source_no: int
    safe_path: Path


def load_batch(
    warehouse: Warehouse,
    batch: Sequence[Incoming],
    reading: Reading,
    settings: Settings,
    moment: Moment,
    advance: Callable[[int], None],
    *,
    is_dry: bool = False,
) -> list[Loaded]:
    """Load a batch and recompute what it touches. All or nothing; `advance` is told bytes read.

    A dry run reads everything, counts, and keeps nothing.
    """
    connection = warehouse.connection
    connection.execute("begin")
    try:
        loaded = _load(connection, warehouse.folder, batch, reading, moment, advance)
        if not is_dry:
            facts.refresh(warehouse, settings)
            store.keep(connection)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("rollback" if is_dry else "commit")
    return loaded


def move_clocks(
    warehouse: Warehouse, file_nos: Sequence[int], settings: Settings, moment: Moment
) -> None:
    """Let the clocks of the sources of known dumps reach `--as-of` though they say nothing new."""
    connection = warehouse.connection
    connection.execute("begin")
    try:
        connection.execute(
            "update sources set clock_us = greatest(clock_us, $as_of_us) where source_no in "
            "(select source_no from files where list_contains($file_nos, file_no))",
            {"as_of_us": moment.as_of_us, "file_nos": list(file_nos)},
        )
        # a scheduler's dump was taken at the moment it reaches to: that decides between tellings
        connection.execute(
            "update files set clock_us = greatest(clock_us, $as_of_us) "
            "where list_contains($file_nos, file_no)",
            {"as_of_us": moment.as_of_us, "file_nos": list(file_nos)},
        )
        store.empty_fresh(connection)
        facts.refresh(warehouse, settings)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _load(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    batch: Sequence[Incoming],
    reading: Reading,
    moment: Moment,
    advance: Callable[[int], None],
) -> list[Loaded]:
    rejects.begin(connection)
    numbered = _number(connection, folder, batch, reading)
    parsed: list[str] = []
    unreadable: dict[int, str] = {}
    for group in _groups(numbered):
        if group[0].incoming.format.collector is None:
            parsed += _parse_native(connection, folder, group, reading, moment)
        else:
            parsed.append(_parse_text(connection, group[0], reading, moment, unreadable))
        advance(sum(one.incoming.file.bytes for one in group))
    _encode(connection, parsed)
    _enter_ledger(connection, numbered, unreadable, reading, moment)
    store.deduplicate(connection)
    _count_events(connection)
    rejects.keep(connection, {one.file_no: one.incoming.grown_from for one in numbered})
    return [_loaded(connection, one, unreadable.get(one.file_no)) for one in numbered]


def _number(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    batch: Sequence[Incoming],
    reading: Reading,
) -> list[_Numbered]:
    row = connection.execute("select coalesce(max(file_no), 0) from files").fetchone()
    first = (int(row[0]) if row else 0) + 1
    folder = scratch(folder) / "in"
    folder.mkdir(parents=True, exist_ok=True)
    numbered = []
    for file_no, incoming in enumerate(batch, first):
        safe = folder / f"in-{file_no}"
        safe.unlink(missing_ok=True)
        safe.symlink_to(incoming.file.path.resolve())
        source_no = _source(connection, incoming.format, reading.cluster)
        numbered.append(_Numbered(incoming, file_no, source_no, safe))
    return numbered


def _source(connection: duckdb.DuckDBPyConnection, format: Format, cluster: str | None) -> int:
    source = format.name if cluster is None else f"{format.name}@{cluster}"
    row = connection.execute(
        "select source_no from sources where source = ?", [source]
    ).fetchone()
    if row is not None:
        return int(row[0])
    count = connection.execute("select count(*) from sources").fetchone()
    source_no = (int(count[0]) if count else 0) + 1
    says = format.says
    connection.execute(
        "insert into sources values (?, ?, ?, ?, null, ?, ?, ?)",
        [source_no, source, format.name, cluster, says.training, says.saves, says.resumes],
    )
    return source_no


def _groups(numbered: Sequence[_Numbered]) -> Iterator[list[_Numbered]]:
    """Small native dumps of one compression and source together, every other dump alone."""
    together: dict[tuple[str, int], list[_Numbered]] = {}
    for one in numbered:
        file = one.incoming.file
        if one.incoming.format.collector is None and file.bytes < _TOGETHER_BYTES:
            together.setdefault((file.compression, one.source_no), []).append(one)
        else:
            yield [one]
    yield from together.values()


def _parse_native(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    group: list[_Numbered],
    reading: Reading,
    moment: Moment,
) -> list[str]:
    files = [_native_file(one, reading) for one in group]
    try:
        native.load(connection, files, moment.latest_us)
    except duckdb.Error:
        if len(group) > 1:
            return [
                table
                for one in group
                for table in _parse_native(connection, folder, [one], reading, moment)
            ]
        files = [_mended(connection, folder, group[0], files[0])]
        native.load(connection, files, moment.latest_us)
    _explain(connection, group, files, moment)
    return [native.table_of(files)]


def _native_file(one: _Numbered, reading: Reading) -> native.NativeFile:
    incoming = one.incoming
    return native.NativeFile(
        one.file_no,
        one.source_no,
        one.safe_path,
        incoming.file.compression,
        incoming.fingerprint.key_marks,
        reading.cluster,
    )


def _mended(
    connection: duckdb.DuckDBPyConnection, folder: Path, one: _Numbered, file: native.NativeFile
) -> native.NativeFile:
    """A copy that DuckDB can read to its end: the part before a break, long lines blanked and set aside.

    Line numbers stay those of the dump.
    """
    path = scratch(folder) / "in" / f"mended-{one.file_no}"
    broken: list[dumps.Truncated] = []
    with path.open("wb") as copy:
        for number, line in dumps.lines(one.incoming.file, broken.append):
            if len(line) > dumps.LONGEST_LINE:
                rejected = explain.explain(number, line, 0)
                rejects.add(connection, one.file_no, [rejected])
                line = b""
            copy.write(line + b"\n")
    rejects.add_breaks(connection, one.file_no, broken)
    return replace(file, path=path, compression="none", key_marks=None)


def _explain(
    connection: duckdb.DuckDBPyConnection,
    group: list[_Numbered],
    files: list[native.NativeFile],
    moment: Moment,
) -> None:
    numbered = {one.file_no: one for one in group}
    paths = {file.file_no: file for file in files}
    for file_no, ordinals in native.bad_ordinals(connection, files).items():
        dump = replace(
            numbered[file_no].incoming.file,
            path=paths[file_no].path,
            compression=paths[file_no].compression,
        )
        with dumps.opened(dump) as stream:
            found = list(explain.bad_lines(stream, ordinals, moment.latest_us))
        rejects.add(connection, file_no, found)


def _parse_text(
    connection: duckdb.DuckDBPyConnection,
    one: _Numbered,
    reading: Reading,
    moment: Moment,
    unreadable: dict[int, str],
) -> str:
    table = f"parsed_{one.file_no}"
    collector = one.incoming.format.collector
    assert collector is not None
    target = text.Target(connection, table, one.file_no, one.source_no)
    try:
        text.parse(target, collector, one.incoming.file, reading, moment)
    except UnreadableDump as error:
        unreadable[one.file_no] = str(error)
    return table


def _encode(connection: duckdb.DuckDBPyConnection, parsed: list[str]) -> None:
    """Parsed rows as `fresh_plain_events` and `fresh_told_events`: jobs as numbers, and an identity.

    All parsed fields are an event's identity; which dump told it is not.
    """
    union = " union all by name ".join(
        f"select * exclude (is_bad, keys) from {table} where not is_bad" for table in parsed
    )
    connection.execute(f"create or replace temp view parsed as {union}")
    connection.execute(
        "insert into job_keys select "
        "(select coalesce(max(job_no), 0) from job_keys) + row_number() over (order by job_key), "
        "job_key from (select distinct job_key from parsed where job_key is not null) as told "
        "where not exists (select 1 from job_keys where job_keys.job_key = told.job_key)"
    )
    told = {row[0] for row in connection.execute("describe parsed").fetchall()}
    plain = store.columns(connection, "plain_events")
    more = [name for name in store.columns(connection, "told_events") if name not in plain]
    said = " or ".join(f"parsed.{name} is not null" for name in more if name in told) or "false"
    for table, condition in (("plain_events", f"not ({said})"), ("told_events", said)):
        values = {
            name: f"parsed.{name}" if name in told else f"cast(null as {kind})"
            for name, kind in store.columns(connection, table).items()
        }
        values["job_no"] = "job_keys.job_no"
        columns = ", ".join(f"{value} as {name}" for name, value in values.items())
        connection.execute(
            f"create or replace temp table fresh_{table} as "
            f"select {columns}, {store.identity(values)} as identity "
            f"from parsed left join job_keys on parsed.job_key = job_keys.job_key where {condition}"
        )
    store.show_fresh(connection)
    connection.execute("drop view parsed")
    for table in parsed:
        connection.execute(f"drop table {table}")


def _enter_ledger(
    connection: duckdb.DuckDBPyConnection,
    numbered: Sequence[_Numbered],
    unreadable: dict[int, str],
    reading: Reading,
    moment: Moment,
) -> None:
    """One row a file, with its clock: the newest time in it, or the later `--as-of`."""
    clocks: dict[int, int] = dict(
        connection.execute(
            "select file_no, max(greatest(at_us, end_us)) from fresh_events group by file_no"
        ).fetchall()
    )
    for one in numbered:
        if one.file_no in unreadable:
            continue
        told = [us for us in (clocks.get(one.file_no), moment.as_of_us) if us is not None]
        clock_us = max(told, default=None)
        file = one.incoming.file
        connection.execute(
            "insert into files values (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)",
            [
                one.file_no,
                file.name,
                one.incoming.format.name,
                reading.cluster,
                one.source_no,
                file.bytes,
                one.incoming.fingerprint.sha256,
                clock_us,
                moment.now,
            ],
        )
        _move_clock(connection, one.source_no, clock_us)


def _move_clock(
    connection: duckdb.DuckDBPyConnection, source_no: int, clock_us: int | None
) -> None:
    connection.execute(
        "update sources set clock_us = greatest(clock_us, $clock_us) where source_no = $source_no",
        {"clock_us": clock_us, "source_no": source_no},
    )


def _count_events(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "update files set events = told.events from "
        "(select file_no, count(*) as events from fresh_events group by file_no) as told "
        "where files.file_no = told.file_no"
    )
    connection.execute(
        "update files set rejected = told.rejected from "
        "(select file_no, count(*) as rejected from rejects group by file_no) as told "
        "where files.file_no = told.file_no"
    )


def _loaded(
    connection: duckdb.DuckDBPyConnection, one: _Numbered, unreadable: str | None
) -> Loaded:
    row = connection.execute(
        "select events from files where file_no = ?", [one.file_no]
    ).fetchone()
    reasons = connection.execute(
        "select reason, count(*) from rejects where file_no = ? group by reason", [one.file_no]
    ).fetchall()
    return Loaded(one.incoming.file.name, int(row[0]) if row else 0, dict(reasons), unreadable)
