"""The `events` format: DuckDB parses whole files; no row of a good dump passes through Python.

Bad rows are found here and explained in `ingest.explain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest.dumps import LONGEST_LINE
from ingest.events import EventKind, Outcome, Phase, Says
from ingest.warehouse import literally

NAME = "events"
SAYS = Says(training=True, saves=True, resumes=True)

EARLIEST_US = (
    946_684_800_000_000  # 2000-01-01: no GPU trained before; a clock that says so is broken
)
LONGEST_MESSAGE = 65_536
LONGEST_ID = 256
LONGEST_TEXT = 4_096

# Past any count that can be meant, and small enough that sums of them never overflow.
MOST = 10_000_000
WHOLE_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    # field -> the least and the greatest value it may have
    "attempt": (1, None),
    "rank": (0, None),
    "step": (0, None),
    "recompiles": (0, MOST),
    "resumed_from_step": (0, None),
    "exit_code": (None, None),
    "signal": (None, None),
    "samples": (0, None),
    "gpus": (0, MOST),
}
TEXTS = {
    # field -> the longest it may be, in characters
    "job_id": LONGEST_ID,
    "event_id": LONGEST_ID,
    "host": LONGEST_TEXT,
    "allocation_id": LONGEST_TEXT,
    "stage": LONGEST_TEXT,
    "message": LONGEST_MESSAGE,
    "category": LONGEST_TEXT,
    "component": LONGEST_TEXT,
    "team": LONGEST_TEXT,
    "user": LONGEST_TEXT,
    "workload": LONGEST_TEXT,
    "model": LONGEST_TEXT,
    "cluster": LONGEST_TEXT,
    "gpu_type": LONGEST_TEXT,
    "priority": LONGEST_TEXT,
    "preempted_by": LONGEST_TEXT,
    "name": LONGEST_TEXT,
    "partition": LONGEST_TEXT,
    "description": LONGEST_MESSAGE,
}
CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("sync", "async"),
    "ok": ("true", "false"),
    "cache": ("hit", "miss"),
    "outcome": tuple(Outcome),
}
ENUMS = {
    "event": "event_kind",
    "phase": "phase_name",
    "mode": "save_mode",
    "cache": "cache_result",
    "outcome": "outcome_name",
}
FIELDS = ("ts", "end_ts", "event", "phase", *TEXTS, *WHOLE_NUMBERS, *CHOICES)
KINDS = tuple(EventKind)
PHASES = tuple(Phase)

# Columns of the table `events` that differ in name from the field.
COLUMN_OF = {"user": "user_name", "partition": "partition_name"}

_SAMPLE_ROWS = 102_400
# What every event has, and what the rare `change` alone has: it may well come late in a dump.
_ALWAYS_READ = frozenset({"ts", "event", "job_id", "name", "description"})


@dataclass(frozen=True, slots=True)
class NativeFile:
    """A dump in the native format, under a path that is safe in SQL."""

    file_no: int
    source_no: int
    path: Path
    compression: str
    key_marks: int | None
    cluster: str | None


def load(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], latest_us: int
) -> None:
    """Parse dumps of one compression and source into a table `parsed_<first file_no>`.

    Its columns are those of `events` that the files use, with job_key for job_no; rows stand in the
    order of the files' non-blank lines. The rowids of rows that cannot be events are in `bad_<no>`.
    `latest_us` is the newest time that is believed. Raises duckdb.Error where a file cannot be read
    to its end.
    """
    seen = _known(_early_keys(connection, files))
    _parse(connection, files, seen)
    if _has_room_for_more(connection, files):
        keys = _keys(connection, files)
        if not keys <= set(FIELDS):
            seen = list(FIELDS)
            _parse_whole(connection, files)
        elif not keys <= set(seen):
            seen = _known(keys)
            _parse(connection, files, seen)
    _find_bad(connection, files, seen, latest_us)


def table_of(files: Sequence[NativeFile]) -> str:
    """The table that `load` filled for these files."""
    return f"parsed_{files[0].file_no}"


def good_rows(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> str:
    """A select of the events that `load` found: an attempt that is not named is the first."""
    table, bad = table_of(files), _bad_table(files)
    named = {row[0] for row in connection.execute(f"describe {table}").fetchall()}
    filled = {"attempt": "coalesce(attempt, 1)" if "attempt" in named else "cast(1 as bigint)"}
    if files[0].cluster is not None:
        # the dump's own word on its cluster is stronger than the reader's
        reader = "'" + files[0].cluster.replace("'", "''") + "'"
        filled["cluster"] = f"coalesce(cluster, {reader})" if "cluster" in named else reader
    columns = ", ".join(
        [name for name in named if name not in filled and name != "keys"]
        + [f"{value} as {name}" for name, value in filled.items()]
    )
    found = connection.execute(f"select count(*) from {bad}").fetchone()
    where = "" if found == (0,) else f" where rowid not in (select row_no from {bad})"
    return f"select {columns} from {table}{where}"


def bad_ordinals(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]
) -> dict[int, list[int]]:
    """For each file with bad rows, their places among its non-blank lines, from 0, ascending."""
    bad = _bad_table(files)
    if connection.execute(f"select count(*) from {bad}").fetchone() == (0,):
        return {}
    rows = connection.execute(
        "with first_rows as (select file_no, min(rowid) as first_row "
        f"from {table_of(files)} group by file_no) "
        "select file_no, list(row_no - first_row order by row_no) "
        f"from {bad} inner join {table_of(files)} as parsed on parsed.rowid = row_no "
        "inner join first_rows using (file_no) group by file_no"
    ).fetchall()
    return dict(rows)


def forget(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> None:
    """Drop what `load` made."""
    connection.execute(f"drop table {table_of(files)}")
    connection.execute(f"drop table {_bad_table(files)}")


def _bad_table(files: Sequence[NativeFile]) -> str:
    return f"bad_{files[0].file_no}"


def _early_keys(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> set[str]:
    """Keys that a first part of the files uses: reading only those is half the work."""
    keys = connection.execute(
        f"select distinct unnest(json_keys(json)) from (select json from {_objects(files)} "
        f"limit {_SAMPLE_ROWS}) where json is not null and json_type(json) = 'OBJECT'"
    ).fetchall()
    return {key for (key,) in keys}


def _keys(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> set[str]:
    keys = connection.execute(
        f"select distinct unnest(json_keys(json)) from {_objects(files)} "
        "where json is not null and json_type(json) = 'OBJECT'"
    ).fetchall()
    return {key for (key,) in keys}


def _known(keys: set[str]) -> list[str]:
    return [field for field in FIELDS if field in keys or field in _ALWAYS_READ]


def _parse(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], seen: list[str]
) -> None:
    columns = ", ".join(f"'{field}': 'VARCHAR'" for field in seen)
    source = f"read_json({_reading(files)}, format = 'newline_delimited', columns = {{{columns}}})"
    _store(connection, files, source, {field: f'raw."{field}"' for field in seen}, "")


def _parse_whole(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> None:
    """The slower way for dumps with fields of their own: those are kept as `attrs`."""
    known = ", ".join(f'"{field}": null' for field in FIELDS)
    rest = f"json_merge_patch(raw.json, '{{{known}}}')"
    attrs = f"case when {rest} <> '{{}}' then cast({rest} as varchar) end as attrs, "
    # a line that is too long is no event, whatever it holds
    is_event = f"json_type(json) = 'OBJECT' and length(json) <= {LONGEST_LINE}"
    source = (
        f"(select * replace (case when {is_event} then json end as json) from {_objects(files)})"
    )
    raw = {field: f"(raw.json ->> '$.\"{field}\"')" for field in FIELDS}
    _store(connection, files, source, raw, attrs)


def _objects(files: Sequence[NativeFile]) -> str:
    return f"read_ndjson_objects({_reading(files)})"


def _reading(files: Sequence[NativeFile]) -> str:
    paths = ", ".join(literally(file.path) for file in files)
    named = ", filename = true" if len(files) > 1 else ""
    return (
        f"[{paths}], ignore_errors = true, compression = '{files[0].compression}', "
        f"maximum_object_size = {2 * LONGEST_LINE}{named}"
    )


def _store(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    source: str,
    raw: dict[str, str],
    attrs: str,
) -> None:
    """Parse `source` in file order: a row's rowid is its ordinal among the non-blank lines.

    `keys` counts the fields that a row has: more than the columns it fills, and one had no meaning.
    """
    columns = ", ".join(
        f"{_typed(field, column)} as {_column(field)}" for field, column in raw.items()
    )
    keys = " + ".join(f"cast({column} is not null as tinyint)" for column in raw.values())
    # the safe name of a file ends in its number
    several = len(files) > 1
    file_no = "split_part(parse_filename(raw.filename), '-', 2)" if several else files[0].file_no
    connection.execute(
        f"create or replace temp table {table_of(files)} as select "
        f"cast({file_no} as integer) as file_no, "
        f"cast({files[0].source_no} as integer) as source_no, {columns}, {attrs}{keys} as keys "
        f"from {source} as raw"
    )


def _column(field: str) -> str:
    names = {"ts": "at_us", "end_ts": "end_us", "job_id": "job_key"}
    return names.get(field) or COLUMN_OF.get(field, field)


def _typed(field: str, column: str) -> str:
    if field in ("ts", "end_ts"):
        return _microseconds(column)
    if field in ENUMS:
        return f"try_cast({column} as {ENUMS[field]})"
    if field == "ok":
        return f"case {column} when 'true' then true when 'false' then false end"
    if field in WHOLE_NUMBERS:
        return _whole_number(column)
    return column


def _microseconds(column: str) -> str:
    """RFC 3339 with an offset, or Unix seconds. A time without an offset is null: it is unknown."""
    return (
        f"case when suffix({column}, 'Z') "
        f"or regexp_matches({column}, '[+-][0-9]{{2}}:?[0-9]{{2}}$') "
        f"then epoch_us(try_cast({column} as timestamptz)) "
        f"else cast(try_cast({column} as decimal(20, 6)) * 1000000 as bigint) end"
    )


def _whole_number(column: str) -> str:
    """A cast alone would round 1.7 to 2."""
    whole = f"try_cast({column} as bigint)"
    return (
        f"case when contains({column}, '.') or contains({column}, 'e') or contains({column}, 'E') "
        f"then case when try_cast({column} as double) = {whole} then {whole} end else {whole} end"
    )


def _find_bad(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    seen: Sequence[str],
    latest_us: int,
) -> None:
    """List the rows that cannot be events. Most dumps have none, which a few aggregates prove."""
    faults = _faults(seen, latest_us)
    filled = " + ".join(f"count({_column(field)})" for field in seen)
    some = " or ".join(f"bool_or({fault})" for fault in faults)
    has_bad = connection.execute(
        f"select coalesce(sum(keys) <> {filled} or {some}, false) from {table_of(files)}"
    ).fetchone()
    fields = " + ".join(f"cast({_column(field)} is not null as tinyint)" for field in seen)
    is_bad = " or ".join(f"coalesce({fault}, false)" for fault in faults)
    where = f"keys <> {fields} or {is_bad}" if has_bad == (True,) else "false"
    connection.execute(
        f"create or replace temp table {_bad_table(files)} as "
        f"select rowid as row_no from {table_of(files)} where {where}"
    )


def _faults(seen: Sequence[str], latest_us: int) -> list[str]:
    """What makes a row no event, beside a field without meaning."""
    believed = f"not between {EARLIEST_US} and {latest_us}"
    faults = [
        "at_us is null",
        f"at_us {believed}",
        "event is null",
        "job_key is null and event <> 'change'",
        "job_key = ''",
    ]
    if "phase" in seen:
        faults.append("phase is null and event in ('phase_start', 'phase_end')")
    else:
        faults.append("event in ('phase_start', 'phase_end')")
    if "end_ts" in seen:
        faults.append(f"end_us {believed}")
    for field, (least, most) in WHOLE_NUMBERS.items():
        if field in seen and least is not None:
            faults.append(f"{field} < {least}")
        if field in seen and most is not None:
            faults.append(f"{field} > {most}")
    faults += [
        f"length({_column(field)}) > {longest}" for field, longest in TEXTS.items() if field in seen
    ]
    return faults


def _has_room_for_more(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> bool:
    """Whether the files might have a field that was not read.

    Plain text that holds as many `":` as fields were read has no room for another. Of compressed
    files that is not known.
    """
    marks = [file.key_marks for file in files]
    if None in marks:
        return True
    read = connection.execute(f"select coalesce(sum(keys), 0) from {table_of(files)}").fetchone()
    return read is None or int(read[0]) != sum(mark or 0 for mark in marks)
