"""A published fleet-year from a published sample: its rows under other teams and on earlier days.

Speeds are those of 200 teams over 360 days; the numbers are not: the fleet's sums are of one copy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

import queries
from bench.processes import python
from queries import model

END = "2026-03-31"
AS_OF = "2026-04-01T00:00:00Z"
DAYS = 120
COPIES_OF_TEAMS, COPIES_OF_DAYS = 25, 3
# the sample's 8 teams over 120 days with so many events have 40,000 attempts: 3 M in all copies
EVENTS = 1_800_000
_MACRO = re.compile(r"^-- macro: (.+)$", re.MULTILINE)
# as a publish lays them out, which readers' scans rest on
_ORDERS = {
    "attempts": "ended_at, job_id, attempt",
    "checkpointing": "ended_day",
    "save_times": "day",
    "cells_by_team_day": "day, team, workload, model, gpus",
    "stages_by_team_day": "day, team, workload, phase, stage",
    "failures_by_team_day": "team, workload, day",
    "day_latencies": "team, workload, day",
    "jobs": "job_id",
}


def make(folder: Path, events: int = EVENTS) -> Path:
    """Write dumps, ingest them, and publish their copies; returns the warehouse folder."""
    python("-m", "sample_data", "--out", folder / "dumps", "--end", END, "--events", events)
    dumps = sorted((folder / "dumps").glob("*.jsonl"))
    python("-m", "ingest.cli", "--warehouse", folder / "small", "--as-of", AS_OF, *dumps)
    year = folder / "year"
    (year / "detail").mkdir(parents=True)
    with duckdb.connect(str(year / "serving-1.duckdb")) as connection:
        small = str(queries.published(folder / "small")).replace("'", "''")
        connection.execute(f"attach '{small}' as small (read_only)")
        _copy(connection)
        connection.execute("detach small")
    (year / "CURRENT").write_text("serving-1.duckdb", encoding="utf-8")
    return year


def _copy(connection: duckdb.DuckDBPyConnection) -> None:
    held = connection.execute(
        "select table_name from duckdb_tables() where database_name = 'small'"
    ).fetchall()
    for (name,) in held:
        connection.execute(f"create table {name} as {_copies(connection, name)}")
    connection.execute(
        f"update publication set first_day = first_day - {DAYS * (COPIES_OF_DAYS - 1)}"
    )
    stored = {name for (name,) in held}
    for one in model.models("serving"):
        if parameters := _MACRO.search(one.sql):
            connection.execute(f"create macro {one.name} ({parameters[1]}) as table {one.sql}")
        elif one.name not in stored and "from warehouse." not in one.sql:
            connection.execute(f"create view {one.name} as {one.sql}")


def _copies(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The select of a table's rows for every copy; in its order, which readers' scans rest on."""
    columns = dict(
        connection.execute(
            "select column_name, data_type from duckdb_columns() "
            "where database_name = 'small' and table_name = ?",
            [name],
        ).fetchall()
    )
    if not columns.keys() & {"day", "job_id"}:
        return f"from small.{name}"
    replaced = ", ".join(_replaced(columns))
    teams = COPIES_OF_TEAMS if columns.keys() & {"team", "job_id"} else 1
    only_once = "where team <> 'fleet' or team_copy = 0" if "team" in columns else ""
    order = f"order by {_ORDERS[name]}" if name in _ORDERS else ""
    return (
        f"select * exclude (team_copy, day_copy) replace ({replaced}) from small.{name} "
        f"cross join range({teams}) as teams (team_copy) "
        f"cross join range({COPIES_OF_DAYS}) as days (day_copy) {only_once} {order}"
    )


def _replaced(columns: dict[str, str]) -> Iterator[str]:
    for column, kind in columns.items():
        if column == "team":
            yield "if(team = 'fleet', team, team || '-' || team_copy) as team"
        elif column == "job_id":
            yield "job_id || '-' || team_copy || '-' || day_copy as job_id"
        elif kind == "DATE":
            yield f"cast({column} - cast(day_copy * {DAYS} as integer) as date) as {column}"
        elif kind == "TIMESTAMP":
            yield f"{column} - to_days(cast(day_copy * {DAYS} as integer)) as {column}"
