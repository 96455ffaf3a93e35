"""How events stand in the warehouse: plain ones and those that say more, each once.

The rows of a batch are `fresh_plain_events` and `fresh_told_events` until they are kept.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

TABLES = ("plain_events", "told_events")

_OF_THE_DUMP = ("file_no", "source_no")


def columns(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """A table's columns in order, with their types."""
    return {row[0]: row[1] for row in connection.execute(f"describe {table}").fetchall()}


def identity(values: Mapping[str, str]) -> str:
    """An SQL expression that is equal for events that say the same, whichever dump they are from."""
    said = [value for name, value in values.items() if name not in _OF_THE_DUMP]
    return f"hash({', '.join(said)})"


def empty_fresh(connection: duckdb.DuckDBPyConnection) -> None:
    """A batch without events."""
    for table in TABLES:
        connection.execute(
            f"create or replace temp table fresh_{table} as "
            f"select *, cast(0 as ubigint) as identity from {table} limit 0"
        )
    show_fresh(connection)


def show_fresh(connection: duckdb.DuckDBPyConnection) -> None:
    """`fresh_events`: the batch's events of both kinds."""
    connection.execute(
        "create or replace temp view fresh_events as "
        "select * from fresh_told_events union all by name select * from fresh_plain_events"
    )


def deduplicate(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop from the batch what it says twice and what the warehouse knows.

    Of a scheduler row told again, the telling of the newest dump stays: it decides between dumps.
    Needs the batch's rows in the ledger `files`, for their clocks.
    """
    for table in TABLES:
        _tell_once(connection, table)
        _forget_known(connection, table)


def keep(connection: duckdb.DuckDBPyConnection) -> None:
    """Move the batch's events into the warehouse."""
    for table in TABLES:
        connection.execute(f"insert into {table} select * exclude (identity) from fresh_{table}")


def _tell_once(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    twice = connection.execute(
        f"select 1 from fresh_{table} group by job_no, identity having count(*) > 1 limit 1"
    ).fetchone()
    if twice is None:
        return
    connection.execute(
        f"create or replace temp table fresh_{table} as select * exclude (place) from ("
        "select fresh.*, row_number() over (partition by fresh.job_no, identity "
        "order by files.clock_us desc nulls last, fresh.file_no) as place "
        f"from fresh_{table} as fresh left join files on fresh.file_no = files.file_no) "
        "where place = 1"
    )


def _forget_known(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    values = {name: f"known.{name}" for name in columns(connection, table)}
    is_row = "known.row_key is not null" if "row_key" in values else "false"
    connection.execute(
        "create or replace temp table retold as "
        f"select known.rowid as place, fresh.rowid as fresh_place, {is_row} "
        "and coalesce(fresh_files.clock_us > known_files.clock_us, false) as is_newer "
        f"from {table} as known "
        f"inner join fresh_{table} as fresh on known.job_no is not distinct from fresh.job_no "
        f"and {identity(values)} = fresh.identity "
        "inner join files as known_files on known.file_no = known_files.file_no "
        "inner join files as fresh_files on fresh.file_no = fresh_files.file_no"
    )
    connection.execute(
        f"delete from {table} where rowid in (select place from retold where is_newer)"
    )
    connection.execute(
        f"delete from fresh_{table} where rowid in "
        "(select fresh_place from retold where not is_newer)"
    )
    connection.execute("drop table retold")
