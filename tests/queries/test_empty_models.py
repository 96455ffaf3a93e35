"""Models that are not planned where what they need is not there: they would have had no row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ingest import facts
from queries import model
from tests.ingest.warehouses import contents, fleet
from tests.queries.engine import ingest, write_dump

Told = dict[str, tuple[int, list[tuple[str, str]]]]

NEEDING = {each.name: each.needs for each in model.models("staging") if each.needs is not None}
ROWS = {name for name, needs in NEEDING.items() if needs == "scoped_events.row_key"}


def native(path: Path) -> Path:
    return write_dump(path, fleet(1))


def accounting(path: Path) -> Path:
    head = "JobID|State|Submit|Start|End|Elapsed|AllocTRES"
    times = "2026-03-01T10:00:00|2026-03-01T10:05:00|2026-03-01T11:00:00|00:55:00|gres/gpu=8"
    path.write_text(f"{head}\n17|NODE_FAIL|{times}\n18|COMPLETED|{times}\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("dump", "lacking"), [(native, set(NEEDING)), (accounting, set(NEEDING) - ROWS)]
)
def test_they_have_the_columns_that_they_would_have_and_no_row(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dump: Callable[[Path], Path],
    lacking: set[str],
) -> None:
    given = dump(tmp_path / "dump")
    told: Told = {}
    run, forget = model._run, model.forget
    planned: set[str] = set()

    def counting(connection: duckdb.DuckDBPyConnection, text: str) -> None:
        if " as -- " in text:
            planned.add(text.split(" as -- ")[0].split()[-1])
        run(connection, text)

    def noting(
        connection: duckdb.DuckDBPyConnection, *layers: str, stores_all: bool = False
    ) -> None:
        if "staging" in layers:
            told.update({name: described(connection, name) for name in NEEDING})
        forget(connection, *layers, stores_all=stores_all)

    monkeypatch.setattr(model, "_run", counting)
    monkeypatch.setattr(facts.model, "forget", noting)
    assert 0 == ingest(tmp_path / "left out", given)
    left_out, told = told, {}
    assert set(NEEDING) - lacking == planned & set(NEEDING)

    monkeypatch.setattr(model, "_lacks", lambda *_: False)
    assert 0 == ingest(tmp_path / "planned", given)
    assert set(NEEDING) == planned & set(NEEDING)
    assert left_out == told
    assert {0} == {told[name][0] for name in lacking}
    assert contents(tmp_path / "left out") == contents(tmp_path / "planned")


def described(
    connection: duckdb.DuckDBPyConnection, table: str
) -> tuple[int, list[tuple[str, str]]]:
    columns = [
        (name, kind) for name, kind, *_ in connection.execute(f"describe {table}").fetchall()
    ]
    [(count,)] = connection.execute(f"select count(*) from {table}").fetchall()
    return count, columns
