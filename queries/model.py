"""The SQL models of this folder: which there are, in which order they run, and how they are run.

A model is a bare select in a file of its own; its stem is its name. Models read only models of
their own or earlier layers. Never reads a dump, never opens a database.
"""

from __future__ import annotations

import csv
import hashlib
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import duckdb

# `alerts` are what the detector observed on some days: each batch sums those of the days that it
# touched, each publication asks for those of the regressions whose evidence it tells anew.
LAYERS = ("staging", "facts", "losses", "alerts", "rollups")

STARTUP_AREAS = (
    "scheduling",
    "hardware_setup",
    "launcher_init",
    "trainer_init",
    "pt2_compile",
    "checkpoint_load",
)
AREAS = (
    *STARTUP_AREAS,
    "effective",
    "unsaved",
    "hang",
    "checkpoint_save",
    "evaluation",
    "data_wait",
    "shutdown",
    "unaccounted",
    "uninstrumented",
)

# Facts that outlive a batch: they stand in the warehouse under their name and `_kept`.
KEPT_FACTS = (
    "attempt_facts",
    "attempt_day_facts",
    "save_facts",
    "stage_facts",
    "contradiction_facts",
    "clock_bounds",
    "job_names",
)
# Rollups that outlive a batch, keyed by day. The tables of both are in ingest/kept.sql.
KEPT_ROLLUPS = (
    "team_day_sums",
    "latency_percentiles",
    "failure_day_sums",
    "series_cells",
    "series_marks",
)

_FOLDER = Path(__file__).parent
_ATTRIBUTIONS = _FOLDER / "failure_categories.csv"
_EMPTY = _FOLDER / "empty_staging.sql"
_TABLE = re.compile(r"^create or replace temp table ([a-z_]+) .+?;$", re.MULTILINE | re.DOTALL)
_READS = re.compile(r"\b(?:from|join)\s+([a-z_]+)", re.IGNORECASE)
_MACRO = re.compile(r"^-- macro: (.+)$", re.MULTILINE)
_CHANGES = re.compile(r"^-- changes by: ([a-z_]+)$", re.MULTILINE)
_NEEDS = re.compile(r"^-- empty without: ([a-z_.]+)$", re.MULTILINE)
# What a model changes by, and the temporary table that lists what changed.
_CHANGED = {"job_id": "publishing_jobs", "day": "publishing_days"}
_COMMENT = re.compile(r"--[^\n]*")
# Millions of intervals are charged: a word of theirs takes a byte, and is compared as one.
_AREA_NAME = "create temp type if not exists area_name as enum ({})".format(
    ", ".join(f"'{area}'" for area in (*AREAS, "training"))
)
_PARSED: dict[str, duckdb.Statement] = {}


@dataclass(frozen=True, slots=True)
class Model:
    """One SQL file: its name, layer, select, and whether its rows are stored or read through.

    `needs` is a table, or a column of one (`table.column`), without whose values it has no row.
    """

    name: str
    layer: str
    sql: str
    is_stored: bool
    needs: str | None


@cache
def models(*layers: str) -> tuple[Model, ...]:
    """The models of these layers, each after every model that it reads."""
    found = {
        path.stem: _model(path, layer)
        for layer in layers
        for path in sorted((_FOLDER / layer).glob("*.sql"))
    }
    reads = {name: _reads(model.sql) & found.keys() - {name} for name, model in found.items()}
    return tuple(found[name] for name in TopologicalSorter(reads).static_order())


def compute(connection: duckdb.DuckDBPyConnection, *layers: str, stores_all: bool = False) -> None:
    """Run the models of these layers into temporary tables of their names.

    Those that are read through are views, unless `stores_all`: of few rows it takes less time to
    copy them than to plan them anew for each model that reads them. Those that lack what they need
    are made as empty tables, and not planned.

    Reads the temporary tables `scoped_events`, `woven_jobs`, `calendar`, `calendar_pieces`,
    `exclusions`, `settings` (for alerts and rollups `touched_days`) and the warehouse's `files`,
    `sources`, `job_keys`, `scheduler_jobs`, `job_links`.
    """
    connection.execute(_AREA_NAME)
    needed = {model.needs for model in models(*layers) if model.needs is not None}
    lacking = {need for need in needed if _lacks(connection, need)}
    for model in models(*layers):
        if model.needs in lacking:
            _run(connection, _empty_tables()[model.name])
        else:
            _run(connection, _making(model, stores_all=stores_all))


def _making(model: Model, *, stores_all: bool) -> str:
    kind = "table" if stores_all or model.is_stored else "view"
    return f"create or replace temp {kind} {model.name} as {model.sql}"


def _lacks(connection: duckdb.DuckDBPyConnection, need: str) -> bool:
    table, _, column = need.partition(".")
    has_value = f" where {column} is not null" if column else ""
    return connection.execute(f"select 1 from {table}{has_value} limit 1").fetchone() is None


@cache
def _empty_tables() -> dict[str, str]:
    """The statement that makes each model without the rows of what it needs."""
    sql = _EMPTY.read_text(encoding="utf-8")
    return {match[1]: match[0] for match in _TABLE.finditer(sql)}


@cache
def parse_beside() -> None:
    """Begin to parse what `compute` runs of all layers, a seventh of a second, while something else
    is done. Once in a process. What it does not come to is parsed when it is run.
    """
    with suppress(RuntimeError):  # where no more threads may be
        threading.Thread(target=_parse_all).start()


def _parse_all() -> None:
    with suppress(duckdb.Error), duckdb.connect() as engine:
        for model in models(*LAYERS):
            for stores_all in {model.is_stored, True}:
                _parse(engine, _making(model, stores_all=stores_all))


def forget(connection: duckdb.DuckDBPyConnection, *layers: str, stores_all: bool = False) -> None:
    """Drop what `compute` made, newest first."""
    for model in reversed(models(*layers)):
        kind = "table" if stores_all or model.is_stored else "view"
        connection.execute(f"drop {kind} if exists temp.{model.name}")


def show(connection: duckdb.DuckDBPyConnection, *layers: str) -> None:
    """Let the models of these layers be read as temporary views of their names, and compute none.

    For who asks for few of their rows and columns, and once. What they read is looked up when they
    are asked, along the search path of that moment.
    """
    for model in models(*layers):
        _run(connection, f"create or replace temp view {model.name} as {model.sql}")


def serve(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the attached database `serving` with what readers see, from the database `warehouse`.

    An empty one is filled whole. In the copy of an earlier one that the same models filled, views
    and macros stay, and models that say what they change by replace only their rows of
    `publishing_jobs` (job_id) or `publishing_days` (day); they read no more than `publishing_names`
    and `publishing_days` let them. Leaves `serving` as the default. Views and macros name no
    database: the file can be renamed.
    """
    connection.execute("use serving")
    # what got worse may be there already (`regression_tables.serve`)
    present = {model.name for model in models("serving")} & {
        name
        for (name,) in connection.execute(
            "select table_name from duckdb_tables() where database_name = 'serving'"
        ).fetchall()
    }
    for model in models("serving"):
        if (changes := _CHANGES.search(model.sql)) and model.name in present:
            changed = _CHANGED[changes[1]]
            connection.execute(
                f"delete from {model.name} where {changes[1]} in "
                f"(select {changes[1]} from {changed})"
            )
            _run(connection, f"insert into {model.name} {model.sql}")
        elif parameters := _MACRO.search(model.sql):
            if not present:
                _run(
                    connection, f"create macro {model.name} ({parameters[1]}) as table {model.sql}"
                )
        elif model.is_stored or not present:
            kind = "table" if model.is_stored else "view"
            _run(connection, f"create or replace {kind} {model.name} as {model.sql}")


def _run(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Parse a text once in a process: of a small batch that is a sixth of all work."""
    connection.execute(_parse(connection, text))


def _parse(connection: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    if (statement := _PARSED.get(text)) is None:
        [statement] = connection.extract_statements(text)
        _PARSED[text] = statement
    return statement


def fingerprint() -> str:
    """Changes when any model does: what an earlier release served is then no base to build on."""
    return _fingerprint(*LAYERS, "serving", "serving/regressions")


def facts_fingerprint() -> str:
    """Changes when a model of kept facts or rollups does: what stands was made by other ones."""
    return _fingerprint(*LAYERS)


def _fingerprint(*layers: str) -> str:
    told = hashlib.sha256()
    # by name: which of two models that do not read each other runs first is up to the process
    for model in sorted(models(*layers), key=lambda each: each.name):
        told.update(f"{model.name}\n{model.sql}\n".encode())
    told.update(_ATTRIBUTIONS.read_bytes())
    return told.hexdigest()


def load_attributions(connection: duckdb.DuckDBPyConnection, own: Mapping[str, str]) -> None:
    """`category_attributions`: category, attribution. Who can mend each kind of failure.

    `own` are the categories that an installation adds.
    """
    told = {**_attributions(), **own}
    connection.execute(
        "create or replace temp table category_attributions as "
        "select unnest($1::varchar[]) as category, unnest($2::varchar[]) as attribution",
        [list(told), list(told.values())],
    )


@cache
def _attributions() -> dict[str, str]:
    with _ATTRIBUTIONS.open(encoding="utf-8", newline="") as rows:
        return {
            f"{row['domain']}/{row['category']}": row["attribution"] for row in csv.DictReader(rows)
        }


def _model(path: Path, layer: str) -> Model:
    sql = path.read_text(encoding="utf-8")
    needs = _NEEDS.search(sql)
    return Model(
        path.stem,
        layer,
        sql,
        is_stored="-- stored: no" not in sql,
        needs=needs[1] if needs else None,
    )


def _reads(sql: str) -> set[str]:
    return set(_READS.findall(_COMMENT.sub("", sql)))
