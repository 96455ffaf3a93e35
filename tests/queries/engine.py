"""The engine as users run it: dumps through `ett-ingest`, numbers from the published file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

from ingest import cli
from queries import AREAS, published


def write_dump(path: Path, events: Iterable[dict[str, Any]]) -> Path:
    """Write native events as JSON lines."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def ingest(warehouse: Path, *arguments: object) -> int:
    """Run `ett-ingest` in this process; returns its exit status."""
    return cli.main(["--warehouse", str(warehouse), *map(str, arguments)])


@contextmanager
def hearing() -> Iterator[list[str]]:
    """What ingests of this process warn of meanwhile; a fixture of a module has no `caplog`."""
    said: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    handler = Kept(logging.WARNING)
    logging.getLogger("ingest").addHandler(handler)
    try:
        yield said
    finally:
        logging.getLogger("ingest").removeHandler(handler)


@contextmanager
def reading(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that nobody writes, as a reader has it.

    One engine reads them all: to start another takes five times as long as to attach a file.
    """
    quoted, name = str(path).replace("'", "''"), f"read_{next(_NUMBERS)}"
    with _engine().cursor() as reader:
        reader.execute(f"attach '{quoted}' as {name} (read_only)")
        try:
            reader.execute(f"use {name}")
            yield reader
        finally:
            reader.execute("use memory")
            reader.execute(f"detach {name}")


_NUMBERS = count()


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def rows(
    warehouse: Path, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> list[tuple[Any, ...]]:
    """Run a select on the published file, as a reader would."""
    with reading(published(warehouse)) as reader:
        return reader.execute(sql, parameters).fetchall()


def table(warehouse: Path, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Like `rows`, as dicts."""
    with reading(published(warehouse)) as reader:
        result = reader.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def areas(warehouse: Path, job_id: str, attempt: int) -> dict[str, float]:
    """Seconds of an attempt by area, recovery included in its area."""
    return dict(
        rows(
            warehouse,
            "select area, sum(seconds) from area_by_attempt where job_id = ? and attempt = ? "
            "group by area",
            [job_id, attempt],
        )
    )


__all__ = ["AREAS", "areas", "hearing", "ingest", "reading", "rows", "table", "write_dump"]
