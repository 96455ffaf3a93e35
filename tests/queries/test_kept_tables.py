"""Tables that outlive a batch have the columns of the models that are run into them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from ingest import facts
from queries import model
from tests.ingest.warehouses import life
from tests.queries.engine import ingest, write_dump

Columns = list[tuple[str, str]]


def test_kept_tables_have_the_columns_of_their_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Columns] = {}
    kept: dict[str, Columns] = {}
    forget = model.forget

    def noting(
        connection: duckdb.DuckDBPyConnection, *layers: str, stores_all: bool = False
    ) -> None:
        for each in model.models(*layers):
            if each.name in (*model.KEPT_FACTS, *model.KEPT_ROLLUPS):
                given[each.name] = columns(connection, each.name)
                kept[each.name] = columns(connection, f"{each.name}_kept")
        forget(connection, *layers, stores_all=stores_all)

    monkeypatch.setattr(facts.model, "forget", noting)

    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "a.jsonl", life("a")))
    assert {*model.KEPT_FACTS, *model.KEPT_ROLLUPS} == set(given)
    assert given == kept


def columns(connection: duckdb.DuckDBPyConnection, table: str) -> Columns:
    described = connection.execute(f"describe {table}").fetchall()
    return [(name, kind) for name, kind, *_ in described]
