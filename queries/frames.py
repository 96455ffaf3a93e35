"""Frames out of the engine and into it, by the interface that Arrow has for both.

What the engine offers for polars goes through pyarrow, whose import takes a tenth of a small
ingest.
"""

from __future__ import annotations

from typing import Protocol

import duckdb
import polars as pl


class _Streams(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class _Stream:
    """Rows of one side as nothing but a stream, read from its start by each that asks.

    Either side knows the other's own types and goes its own way with them: the engine by pyarrow,
    polars by keeping the type for good, so that the engine's module complains as the process ends.
    """

    def __init__(self, told: _Streams) -> None:
        self._told = told

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._told.__arrow_c_stream__(requested_schema)


def told(connection: duckdb.DuckDBPyConnection, select: str) -> pl.DataFrame:
    """The rows of a select."""
    return pl.DataFrame(_Stream(connection.sql(select)))


def lend(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """Let the connection read a frame as a view of this name, until it is told to unregister it."""
    connection.register(name, _Stream(frame))
