"""A macro of queries/serving alone, over tables that a test fills by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import polars as pl

from queries import model


@contextmanager
def macros(tables: dict[str, pl.DataFrame], *names: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with these tables and the macros of these names."""
    with duckdb.connect() as connection:
        for name, frame in tables.items():
            connection.register(f"{name}_frame", frame)
            connection.execute(f"create table {name} as from {name}_frame")
        for one in model.models("serving"):
            if one.name in names:
                [parameters] = re.findall(r"^-- macro: (.+)$", one.sql, re.MULTILINE)
                connection.execute(f"create macro {one.name} ({parameters}) as table {one.sql}")
        yield connection


def rows(
    connection: duckdb.DuckDBPyConnection, sql: str, *parameters: object
) -> list[dict[str, Any]]:
    """The rows of a select as dictionaries."""
    found: list[dict[str, Any]] = connection.sql(sql, params=list(parameters)).pl().to_dicts()
    return found
