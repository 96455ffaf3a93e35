"""The `events` format: DuckDB parses whole files; no row of a good dump passes through Python.

Bad rows are found here, and explained in `ingest.explain`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest.dumps import LONGEST_LINE
from ingest.events import Says
from ingest.fields import FIELDS, PLAIN, column, faults, typed
from ingest.warehouse import literally

NAME = "events"
SAYS = Says(training=True, saves=True, resumes=True)

_SAMPLE_ROWS = 102_400
# What every event has, and what the rare `change` alone has: it may well come late in a dump.
_ALWAYS_READ = frozenset({"ts", "event", "job_id", "name", "description"})
# whether `keys` has a field twice
_REPEATS = (
    f"list_aggregate(list_filter(keys, lambda key: key in {FIELDS}), 'count') "
    f"<> len(list_intersect(keys, {list(FIELDS)}))"
)


@dataclass(frozen=True, slots=True)
class NativeFile:
    """A dump in the native format, under a path that is safe in SQL."""

    file_no: int
    source_no: int
    path: Path
    compression: str
    key_marks: int | None
    cluster: str | None


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of the objects of dumps. `has_repeats`: some object has a field twice."""

    names: frozenset[str]
    has_repeats: bool

    @property
    def are_fields(self) -> bool:
        """Whether there is nothing but fields, each once."""
        return not self.has_repeats and self.names <= set(FIELDS)

    @property
    def fields(self) -> list[str]:
        """The fields that are read where these are the keys."""
        return [
            field
            for field in FIELDS
            if not self.are_fields or field in self.names or field in _ALWAYS_READ
        ]


def load(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], latest_us: int
) -> Keys:
    """Parse dumps of one compression and source into a table, and find the rows that are no events.

    Rows stand in the order of the files' non-blank lines. `latest_us` is the newest time that is
    believed. Returns the keys that a first part of the files uses: reading only those is half the
    work, and `load_missed` looks for others. Raises duckdb.Error where a file cannot be read to
    its end.
    """
    keys = _keys(connection, f"(select json from {_objects(files)} limit {_SAMPLE_ROWS})")
    _load(connection, files, keys, latest_us)
    return keys


def load_missed(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    latest_us: int,
    looked_for: Keys,
    bad_marks: int | None,
) -> bool:
    """Parse the dumps again if they have keys that were not looked for. Returns whether they had.

    `bad_marks` are the JSON keys that the lines of the bad rows could hold.
    """
    if not _has_room_for_more(connection, files, bad_marks):
        return False
    keys = _keys(connection, _objects(files))
    has_own = not looked_for.are_fields  # then all of them were read
    if (has_own or keys.names <= set(looked_for.fields)) and (
        looked_for.has_repeats or not keys.has_repeats
    ):
        return False
    _load(connection, files, keys, latest_us)
    return True


def good_rows(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> str:
    """A select of the events that `load` found: an attempt that is not named is the first.

    Its columns are those of `events` that the files use, with job_key for job_no, and `says_more`:
    whether the row has a value that no plain event has.
    """
    names = _names(files)
    named = [row[0] for row in connection.execute(f"describe {names.told}").fetchall()]
    filled = {
        "attempt": "coalesce(attempt, 1)" if "attempt" in named else "cast(1 as bigint)",
    }
    if files[0].cluster is not None:
        # the dump's own word on its cluster is stronger than the reader's
        reader = "'" + files[0].cluster.replace("'", "''") + "'"
        filled["cluster"] = f"coalesce(cluster, {reader})" if "cluster" in named else reader
        filled["says_more"] = "true"
    columns = ", ".join(
        [name for name in named if name not in (*filled, "row_no", "keys", "more")]
        + [f"{value} as {name}" for name, value in filled.items()]
    )
    return f"select {columns} from {names.rows}{_where_good(connection, names, 'row_no')}"


def bad_ordinals(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]
) -> dict[int, list[int]]:
    """For each file with bad rows, their places among its non-blank lines, from 0, ascending."""
    names = _names(files)
    if connection.execute(f"select count(*) from {names.bad}").fetchone() == (0,):
        return {}
    rows = connection.execute(
        "with first_rows as (select file_no, min(rowid) as first_row "
        f"from {names.parsed} group by file_no) "
        "select file_no, list(row_no - first_row order by row_no) "
        f"from {names.bad} inner join {names.parsed} as parsed on parsed.rowid = row_no "
        "inner join first_rows using (file_no) group by file_no"
    ).fetchall()
    return dict(rows)


def forget(connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile]) -> None:
    """Drop what `load` made, as far as it came."""
    names = _names(files)
    connection.execute(f"drop view if exists temp.{names.rows}")
    for table in (names.told, names.parsed, names.bad):
        connection.execute(f"drop table if exists temp.{table}")


@dataclass(frozen=True, slots=True)
class _Names:
    """What `load` makes: rows as they were parsed, those that say more, both as one, the bad ones.

    `parsed` has a column for each plain field. The others, which most rows lack, stand there in one
    list of texts, and in `told` as columns: one that is null in nine rows of ten costs as much time
    and memory as a full one.
    """

    parsed: str
    told: str
    rows: str
    bad: str


def _names(files: Sequence[NativeFile]) -> _Names:
    number = files[0].file_no
    return _Names(*(f"{name}_{number}" for name in ("parsed", "told", "rows", "bad")))


def _keys(connection: duckdb.DuckDBPyConnection, objects: str) -> Keys:
    [(names, has_repeats)] = connection.execute(
        f"select list_distinct(flatten(list(keys))), bool_or({_REPEATS}) "
        f"from (select distinct json_keys(json) as keys from {objects} "
        "where json is not null and json_type(json) = 'OBJECT')"
    ).fetchall()
    return Keys(frozenset(names or ()), bool(has_repeats))


def _load(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], keys: Keys, latest_us: int
) -> None:
    if keys.are_fields:
        _parse(connection, files, keys.fields)
    else:
        _parse_whole(connection, files, keys.has_repeats)
    _lay_out(connection, files, keys.fields, has_attrs=not keys.are_fields)
    _find_bad(connection, files, keys.fields, latest_us)


def _parse(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], seen: list[str]
) -> None:
    columns = ", ".join(f"'{field}': 'VARCHAR'" for field in seen)
    source = f"read_json({_reading(files)}, format = 'newline_delimited', columns = {{{columns}}})"
    _store(connection, files, source, {field: f'raw."{field}"' for field in seen}, None)


def _parse_whole(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], has_repeats: bool
) -> None:
    """The slower way for dumps with fields of their own: those are kept as `attrs`. What has a
    field twice is no event: readers of JSON do not agree on which one counts.
    """
    known = ", ".join(f'"{field}": null' for field in FIELDS)
    # a null takes a field out: those that are known, and those that the line tells as null
    rest = f"json_merge_patch('{{}}', json, '{{{known}}}')"
    # a line that is too long is no event, whatever it holds
    is_event = f"json_type(json) = 'OBJECT' and length(json) <= {LONGEST_LINE}"
    if has_repeats:
        is_event += f" and not ({_REPEATS.replace('keys', 'json_keys(json)')})"
    # all at once: each extraction keeps what it parsed of two thousand lines, however long they are
    paths = ", ".join(f"'$.\"{field}\"'" for field in FIELDS)
    source = (
        f"(select *, json_extract_string(json, [{paths}]) as told, {rest} as rest "
        f"from (select * replace (case when {is_event} then json end as json) "
        f"from {_objects(files)}))"
    )
    raw = {field: f"raw.told[{place}]" for place, field in enumerate(FIELDS, 1)}
    attrs = "case when raw.rest <> '{}' then cast(raw.rest as varchar) end"
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
    attrs: str | None,
) -> None:
    """Parse `source` in file order: a row's rowid is its ordinal among the non-blank lines.

    `keys` counts the plain fields that a row has: more than the columns they fill, and one had no
    meaning.
    """
    names = _names(files)
    plain = {field: text for field, text in raw.items() if field in PLAIN}
    rare = [text for field, text in raw.items() if field not in PLAIN]
    columns = ", ".join(f"{typed(field, text)} as {column(field)}" for field, text in plain.items())
    # the safe name of a file ends in its number
    several = len(files) > 1
    file_no = "split_part(parse_filename(raw.filename), '-', 2)" if several else files[0].file_no
    said = [*rare, *([attrs] if attrs else []), "null"]
    connection.execute(
        f"create or replace temp table {names.parsed} as select "
        f"cast({file_no} as integer) as file_no, "
        f"cast({files[0].source_no} as integer) as source_no, {columns}, "
        f"{_filled(plain.values())} as keys, "
        f"case when coalesce({', '.join(said)}) is not null then [{', '.join(said)}] end as more "
        f"from {source} as raw"
    )


def _filled(columns: Iterable[str]) -> str:
    return " + ".join(f"cast({one} is not null as tinyint)" for one in columns)


def _lay_out(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    seen: Sequence[str],
    has_attrs: bool,
) -> None:
    """Give the rows that say more their columns, and let all rows be read as one view."""
    names = _names(files)
    rare = [field for field in seen if field not in PLAIN]
    columns = [
        f"{typed(field, f'more[{place}]')} as {column(field)}"
        for place, field in enumerate(rare, 1)
    ]
    if has_attrs:
        columns.append(f"more[{len(rare) + 1}] as attrs")
    connection.execute(
        f"create or replace temp table {names.told} as select rowid as row_no, * replace "
        f"(list_aggregate(more[1:{len(rare)}], 'count') as more), true as says_more, "
        f"{', '.join(columns)} from {names.parsed} where more is not null"
    )
    connection.execute(
        f"create or replace temp view {names.rows} as "
        "select rowid as row_no, * exclude (more), false as says_more "
        f"from {names.parsed} where more is null "
        f"union all by name select * exclude (more) from {names.told}"
    )


def _find_bad(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[NativeFile],
    seen: Sequence[str],
    latest_us: int,
) -> None:
    """List the rows that cannot be events. Most dumps have none.

    Each condition is looked for alone: what is known of a column's least and greatest value rules
    most of them out, and a column is read only where it does not.
    """
    names = _names(files)
    plain = [field for field in seen if field in PLAIN]
    rare = [field for field in seen if field not in PLAIN]
    of_few = " or ".join(_wrong("more", rare, latest_us))
    selects = [
        *(
            f"select rowid as row_no from {names.parsed} where {condition}"
            for condition in _wrong("keys", plain, latest_us)
        ),
        f"select row_no from {names.told} where {of_few}",
    ]
    connection.execute(f"create or replace temp table {names.bad} as {' union '.join(selects)}")


def _wrong(counted: str, fields: Sequence[str], latest_us: int) -> list[str]:
    """Conditions under which a row is no event by these fields, of which it has `counted`."""
    meant = _filled(column(field) for field in fields) or "0"
    return [f"{counted} <> {meant}", *faults(fields, latest_us)]


def _has_room_for_more(
    connection: duckdb.DuckDBPyConnection, files: Sequence[NativeFile], bad_marks: int | None
) -> bool:
    """Whether the good rows might have a key that was not read.

    Plain text that holds as many `":` as fields were read has no room for another. Of compressed
    files that is not known.
    """
    marks = [file.key_marks for file in files]
    if None in marks or bad_marks is None:
        return True
    names = _names(files)
    [(read,)] = connection.execute(
        "select (select coalesce(sum(keys), 0) "
        f"from {names.parsed}{_where_good(connection, names, 'rowid')}) + "
        "(select coalesce(sum(more), 0) "
        f"from {names.told}{_where_good(connection, names, 'row_no')})"
    ).fetchall()
    return int(read) != sum(mark or 0 for mark in marks) - bad_marks


def _where_good(connection: duckdb.DuckDBPyConnection, names: _Names, row_no: str) -> str:
    found = connection.execute(f"select count(*) from {names.bad}").fetchone()
    return "" if found == (0,) else f" where {row_no} not in (select row_no from {names.bad})"
