"""The engine as users run it: dumps through `ett-ingest`, numbers from the published file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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


def rows(
    warehouse: Path, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
) -> list[tuple[Any, ...]]:
    """Run a select on the published file, as a reader would."""
    with duckdb.connect(str(published(warehouse)), read_only=True) as reader:
        return reader.execute(sql, parameters).fetchall()


def table(warehouse: Path, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Like `rows`, as dicts."""
    with duckdb.connect(str(published(warehouse)), read_only=True) as reader:
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


__all__ = ["AREAS", "areas", "ingest", "rows", "table", "write_dump"]
