"""What is kept and published against what the events give now, row by row.

Computes everything anew, in temporary tables and in a file aside; keeps nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import duckdb

from ingest import detail, facts, publish
from ingest.settings import Settings
from ingest.warehouse import Warehouse, literally, rebuild_command, scratch
from ingest.words import counted, first_line
from queries import NothingPublished, model, published

_DETAIL = (
    *("job_no", "attempt", "kind", "name", "category", "stage", "rank", "started_us", "ended_us"),
    *("step", "detail", "file_no"),
)


def gather_detail(warehouse: Warehouse) -> Iterator[str]:
    """What the listed files hold of each job, as the temporary table `held_detail`."""
    connection = warehouse.connection
    rebuild = f"Run {rebuild_command(warehouse.folder)}."
    connection.execute(
        "create or replace temp table held_detail (base_job_no bigint, rows bigint, told hugeint)"
    )
    listed = connection.execute("select file from detail_files order by file").fetchall()
    for (file,) in listed:
        path = detail.folder(warehouse.folder) / file
        if not path.is_file():
            yield f"{path} is listed and missing. {rebuild}"
            continue
        try:
            connection.execute(
                "insert into held_detail "
                f"select base_job_no, {_digest()} from read_parquet({literally(path)}) "
                "where base_job_no in (select base_job_no from job_details where file = ?) "
                "group by base_job_no",
                [file],
            )
        except duckdb.Error as error:
            yield f"{path} cannot be read: {first_line(error)}. {rebuild}"


def count(connection: duckdb.DuckDBPyConnection, rest: str) -> int:
    """How many rows a select has, of which this is what follows its columns."""
    [(rows,)] = connection.execute(f"select count(*) {rest}").fetchall()
    return int(rows)


def _digest() -> str:
    texts = ", ".join(f"cast({column} as varchar)" for column in _DETAIL)
    return f"count(*) as rows, sum(hash({texts})) as told"


def off_facts(warehouse: Warehouse, settings: Settings, *, has_detail: bool) -> Iterator[str]:
    """Facts, rollups and detail that are not what the events give. Needs `gather_detail` before."""
    connection = warehouse.connection
    rebuild = f"Run {rebuild_command(warehouse.folder)}."
    off = dict.fromkeys((*model.KEPT_FACTS, *model.KEPT_ROLLUPS, "detail"), 0)
    for mine in facts.computed_parts(warehouse, settings):
        for name in model.KEPT_FACTS:
            off[name] += _differing(connection, f"{name}_kept where {mine}", name)
        off["detail"] += _differing_detail(connection) if has_detail else 0
    for days in facts.computed_rollups(warehouse, settings):
        for name in model.KEPT_ROLLUPS:
            off[name] += _differing(connection, f"{name}_kept where {days}", name)
    for name in model.KEPT_ROLLUPS:
        elsewhere = f"from {name}_kept where day not in (select day from days_to_roll_up)"
        off[name] += count(connection, elsewhere)
    for name, rows in off.items():
        if rows:
            yield f"{name}: {counted(rows, 'row')} unlike what the events give. {rebuild}"


def _differing_detail(connection: duckdb.DuckDBPyConnection) -> int:
    return count(
        connection,
        f"from (select base_job_no, {_digest()} from detail_rows group by base_job_no) as fresh "
        "full join (select * from held_detail where base_job_no in "
        "(select base_job_no from attempt_facts)) as held on fresh.base_job_no = held.base_job_no "
        "where fresh.rows is distinct from held.rows or fresh.told is distinct from held.told",
    )


def off_publication(warehouse: Warehouse, settings: Settings, now: datetime) -> Iterator[str]:
    """Published tables that are not what the facts give. Raises duckdb.Error where there is no room
    to build them anew: that is nothing to say of what is published.
    """
    connection = warehouse.connection
    rebuild = f"Run {rebuild_command(warehouse.folder)}."
    fresh = scratch(warehouse.folder) / "check.duckdb"
    try:
        path = published(warehouse.folder)
    except NothingPublished as nothing:
        is_lost = not publish.is_published(warehouse)  # else there was nothing to publish yet
        yield f"nothing is published in {warehouse.folder}. {rebuild}" if is_lost else str(nothing)
        return
    try:
        publish.build_whole(warehouse, fresh, settings, now)
    except duckdb.Error:
        fresh.unlink(missing_ok=True)
        raise
    try:
        off = _differing_parts(connection, fresh, path)
    except duckdb.Error as error:
        yield f"what is published cannot be compared: {first_line(error)}. {rebuild}"
        return
    finally:
        fresh.unlink(missing_ok=True)
    for name, rows in off.items():
        told = f"{counted(rows, 'row')} unlike what the facts give" if rows else "missing"
        yield f"{path.name}, {name}: {told}. {rebuild}"


def _differing_parts(
    connection: duckdb.DuckDBPyConnection, fresh: Path, path: Path
) -> dict[str, int]:
    """How many rows of each table differ, and 0 of each view and macro that is missing."""
    for name, file in (("fresh", fresh), ("shown", path)):
        quoted = str(file).replace("'", "''")
        connection.execute(f"attach '{quoted}' as {name} (read_only)")
    try:
        missing = dict.fromkeys(_missing_selects(connection), 0)
        tables = connection.execute(
            "select table_name from duckdb_tables() where database_name = 'fresh' order by all"
        ).fetchall()
        off = {table: _differing_table(connection, table) for (table,) in tables}
    finally:
        connection.execute("detach fresh")
        connection.execute("detach shown")
    return missing | {table: rows for table, rows in off.items() if rows}


def _missing_selects(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Views and macros of the fresh file that the one that is shown lacks."""
    fresh, shown = (
        "select view_name as name, null as parameters from duckdb_views() "
        f"where database_name = '{database}' and not internal "
        "union all select function_name, parameters "
        f"from duckdb_functions() where database_name = '{database}' and not internal"
        for database in ("fresh", "shown")
    )
    names = connection.execute(f"select name from (({fresh}) except ({shown})) order by name")
    return [name for (name,) in names.fetchall()]


def _differing_table(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    """Sums of doubles may differ in their last bits, by the order in which they were added."""
    columns = connection.execute(
        "select column_name, data_type from duckdb_columns() where database_name = 'fresh' "
        # when it was published, and by which release's detector, is no number of the fleet
        "and table_name = ? and column_name not in ('published_at', 'made_of') "
        "order by column_index",
        [table],
    ).fetchall()
    told = ", ".join(
        f'cast("{name}" as float)' if kind == "DOUBLE" else f'"{name}"' for name, kind in columns
    )
    return _unequal(connection, told, f"fresh.main.{table}", f"shown.main.{table}")


def _differing(connection: duckdb.DuckDBPyConnection, kept: str, fresh: str) -> int:
    columns = connection.execute(f"describe {fresh}").fetchall()
    return _unequal(connection, ", ".join(f'"{name}"' for name, *_ in columns), kept, fresh)


def _unequal(connection: duckdb.DuckDBPyConnection, columns: str, one: str, other: str) -> int:
    """How many rows only one of the two has. Compares hashes: whole rows would not fit."""
    hashes = [f"select hash({columns}) as told from {each}" for each in (one, other)]
    first, second = (
        connection.execute(f"select count(*), sum(told::hugeint) from ({each})").fetchone()
        for each in hashes
    )
    if first == second:
        return 0
    return count(connection, f"from ({hashes[0]} except all {hashes[1]})") + count(
        connection, f"from ({hashes[1]} except all {hashes[0]})"
    )
