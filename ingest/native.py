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

NAME = "events"
SAYS = Says(training=True, saves=True, resumes=True)

EARLIEST_US = 946_684_800_000_000  # 2000-01-01: no GPU trained before; a clock that says so is broken
LONGEST_MESSAGE = 65_536
LONGEST_ID = 256
LONGEST_TEXT = 4_096

WHOLE_NUMBERS = {
    # field -> the least value it may have
    "attempt": 1,
    "rank": 0,
    "step": 0,
    "recompiles": 0,
    "resumed_from_step": 0,
    "exit_code": None,
    "signal": None,
    "samples": 0,
    "gpus": 0,
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

    Its columns are those of `events`, with job_key for job_no, and `is_bad`, `row_no`: rows stand
    in the order of the files' non-blank lines. `latest_us` is the newest time that is believed.
    Raises duckdb.Error where a file cannot be read to its end.
    """
    seen = _known(_early_keys(connection, files))
    _parse(connection, files, seen, latest_us)
    if _has_room_for_more(connection, files):
        keys = _keys(connection, files)
        if not keys <= set(FIELDS):
            _parse_whole(connection, files, latest_us)
        elif not keys <= set(seen):
            _parse(connection, files, _known(keys), latest_us)


def table_of(files: Sequence[NativeFile]) -> str:
    """The table that `load` filled for these files."""
    return f"parsed_{files[0].file_no}"


def bad_ordinals(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]
) -> dict[int, list[int]]:
    """For each file with bad rows, their places among its non-blank lines, from 0, ascending."""
    rows = connection.execute(
        f"with first_rows as (select file_no, min(rowid) as first_row from {table_of(files)} "
        "group by file_no) "
        f"select file_no, list(bad.rowid - first_row order by bad.rowid) from {table_of(files)} as bad "
        "inner join first_rows using (file_no) where bad.is_bad group by file_no"
    ).fetchall()
    return dict(rows)


def _early_keys(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]
) -> set[str]:
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
    return [field for field in FIELDS if field in keys or field in ("ts", "event", "job_id")]


def _parse(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    seen: list[str],
    latest_us: int,
) -> None:
    columns = ", ".join(f"'{field}': 'VARCHAR'" for field in seen)
    source = f"read_json({_reading(files)}, format = 'newline_delimited', columns = {{{columns}}})"
    raw = {field: f'raw."{field}"' for field in seen}
    keys = " + ".join(f"cast({column} is not null as tinyint)" for column in raw.values())
    _store(connection, files, source, raw, keys, None, latest_us)


def _parse_whole(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], latest_us: int
) -> None:
    """The slower way for dumps with fields of their own: those are kept as `attrs`."""
    raw = {field: f"(raw.json ->> '$.\"{field}\"')" for field in FIELDS}
    known = ", ".join(f'"{field}": null' for field in FIELDS)
    rest = f"json_merge_patch(raw.json, '{{{known}}}')"
    attrs = f"case when {rest} <> '{{}}' then cast({rest} as varchar) end"
    source = f"(select * replace (case when json_type(json) = 'OBJECT' then json end as json) from {_objects(files)})"
    length = "cast(length(raw.json) as bigint)"
    _store(connection, files, source, raw, length, attrs, latest_us)
    # a line that is too long is no event, whatever it holds
    connection.execute(
        f"update {table_of(files)} set is_bad = true where keys > {LONGEST_LINE}"
    )


def _objects(files: Sequence[NativeFile]) -> str:
    return f"read_ndjson_objects({_reading(files)})"


def _reading(files: Sequence[NativeFile]) -> str:
    paths = ", ".join("'" + str(file.path).replace("'", "''") + "'" for file in files)
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
    keys: str,
    attrs: str | None,
    latest_us: int,
) -> None:
    """Parse `source` in file order: a row's rowid is its ordinal among the files' non-blank lines."""
    typed = {field: _typed(field, raw.get(field)) for field in FIELDS}
    columns = [
        f"{_filled(field, typed[field], files)} as {_column(field)}"
        for field in FIELDS
        if field in raw or field == "attempt" or (field == "cluster" and files[0].cluster)
    ]
    # the safe name of a file ends in its number
    several = len(files) > 1
    file_no = "split_part(parse_filename(raw.filename), '-', 2)" if several else files[0].file_no
    kept = "" if attrs is None else f"{attrs} as attrs, "
    connection.execute(
        f"create or replace temp table {table_of(files)} as select "
        f"cast({file_no} as integer) as file_no, "
        f"cast({files[0].source_no} as integer) as source_no, {', '.join(columns)}, "
        f"{kept}{keys} as keys, {_is_bad(raw, typed, latest_us)} as is_bad "
        f"from {source} as raw"
    )


def _filled(field: str, typed: str, files: Sequence[NativeFile]) -> str:
    if field == "attempt":
        return f"coalesce({typed}, 1)"
    if field == "cluster" and files[0].cluster is not None:
        # the dump's own word on its cluster is stronger than the reader's
        return f"coalesce({typed}, '" + files[0].cluster.replace("'", "''") + "')"
    return typed


def _column(field: str) -> str:
    names = {"ts": "at_us", "end_ts": "end_us", "job_id": "job_key"}
    return names.get(field) or COLUMN_OF.get(field, field)


def _typed(field: str, column: str | None) -> str:
    if column is None:
        return "null"
    if field in ("ts", "end_ts"):
        return _microseconds(column)
    if field in ENUMS:
        return f"try_cast({column} as {ENUMS[field]})"
    if field == "ok":
        return f"case {column} when 'true' then true when 'false' then false end"
    if field in WHOLE_NUMBERS:
        return f"try_cast({column} as bigint)"
    return column


def _microseconds(column: str) -> str:
    """RFC 3339 with an offset, or Unix seconds. A time without an offset is null: nobody knows it."""
    return (
        f"case when suffix({column}, 'Z') or regexp_matches({column}, '[+-][0-9]{{2}}:?[0-9]{{2}}$') "
        f"then epoch_us(try_cast({column} as timestamptz)) "
        f"else cast(try_cast({column} as decimal(20, 6)) * 1000000 as bigint) end"
    )


def _is_bad(raw: dict[str, str], typed: dict[str, str], latest_us: int) -> str:
    """Whether a row cannot be an event; written so that good rows cost little."""
    bad = [
        "at_us is null",
        f"at_us not between {EARLIEST_US} and {latest_us}",
        f"{typed['event']} is null",
        f"job_key is null and {typed['event']} <> 'change'",
        f"{typed['phase']} is null and {typed['event']} in ('phase_start', 'phase_end')",
    ]
    if "end_ts" in raw:
        bad.append(
            f"{raw['end_ts']} is not null "
            f"and coalesce(end_us not between {EARLIEST_US} and {latest_us}, true)"
        )
    if "phase" in raw:
        bad.append(f"{raw['phase']} is not null and {typed['phase']} is null")
    for field, least in WHOLE_NUMBERS.items():
        if field in raw:
            least_is = f"{typed[field]} < {least}" if least is not None else f"{typed[field]} is null"
            bad.append(f"{raw[field]} is not null and coalesce({least_is}, true)")
            # a cast alone would round 1.7 to 2
            bad.append(
                f"(contains({raw[field]}, '.') or contains({raw[field]}, 'e')) "
                f"and coalesce(try_cast({raw[field]} as double) <> {typed[field]}, true)"
            )
    for field, choices in CHOICES.items():
        if field in raw:
            listed = ", ".join(f"'{choice}'" for choice in choices)
            bad.append(f"{raw[field]} not in ({listed})")
    for field, longest in TEXTS.items():
        if field in raw:
            bad.append(f"length({raw[field]}) > {longest}")
    if "job_id" in raw:
        bad.append(f"{raw['job_id']} = ''")
    return "coalesce(" + " or ".join(f"({condition})" for condition in bad) + ", false)"


def _has_room_for_more(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]
) -> bool:
    """Whether the files might have a field that was not read.

    Plain text that holds as many `":` as fields were read has no room for another. Of compressed
    files that is not known.
    """
    marks = [file.key_marks for file in files]
    if None in marks:
        return True
    read = connection.execute(
        f"select coalesce(sum(keys), 0) from {table_of(files)}"
    ).fetchone()
    return read is None or int(read[0]) != sum(mark or 0 for mark in marks)
