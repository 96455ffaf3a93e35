"""Recomputes every fact of a warehouse from its events and publishes: what an increment saves."""

from __future__ import annotations

import json
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import duckdb

from ingest import facts, publish, warehouse
from ingest.settings import Settings

# the models that charge each instant to one area
_SWEEP = re.compile(r"create .*(charged_intervals|worked_intervals) as")


class _Timed:
    """A connection that knows how long the sweep took."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.seconds = 0.0

    def execute(
        self, statement: str | duckdb.Statement, *parameters: Any
    ) -> duckdb.DuckDBPyConnection:
        text = statement if isinstance(statement, str) else statement.query
        began = time.monotonic()
        try:
            return self._connection.execute(statement, *parameters)
        finally:
            self.seconds += (time.monotonic() - began) * bool(_SWEEP.match(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def main(folder: Path, told: Path) -> None:
    """Rebuild in one transaction, then publish; writes how long the sweep of areas took of it."""
    with warehouse.opened(folder, print, 0) as opened:
        timed = _Timed(opened.connection)
        whole = warehouse.Warehouse(folder, cast(duckdb.DuckDBPyConnection, timed))
        opened.connection.execute("begin")
        facts.rebuild(whole, Settings())
        opened.connection.execute("commit")
        publish.publish(opened, Settings(), datetime.now(UTC).replace(tzinfo=None))
    told.write_text(json.dumps({"sweep_seconds": timed.seconds}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
