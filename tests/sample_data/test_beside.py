"""The sample fleet is loaded beside nobody's dumps."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_data import beside
from tests.ingest.warehouses import life
from tests.queries.engine import ingest, write_dump


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".sample").mkdir()
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path / "warehouse"))
    return tmp_path / "warehouse"


def loaded(warehouse: Path, name: str) -> None:
    ingest(warehouse, write_dump(warehouse.parent / name, life(name)))


def test_it_goes_where_nothing_is_or_nothing_else(warehouse: Path) -> None:
    before = beside.main(["run"])
    loaded(warehouse, ".sample/events-2026-03-01.jsonl")

    assert [0, 0, 0] == [before, beside.main(["run"]), beside.main(["ingest"])]


@pytest.mark.parametrize("name", ["events-2026-03-01.jsonl", ".sample/mine.jsonl"])
def test_it_is_left_out_beside_dumps_of_ones_own(
    warehouse: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    loaded(warehouse, name)
    capsys.readouterr()

    assert 1 == beside.main(["run"])
    assert "holds dumps of your own: the sample fleet is left out" in capsys.readouterr().err
    assert 0 == beside.main(["ingest"])
    assert "" == capsys.readouterr().err


def test_that_both_are_counted_is_said(warehouse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded(warehouse, ".sample/events-2026-03-01.jsonl")
    loaded(warehouse, "mine.jsonl")
    capsys.readouterr()

    assert 0 == beside.main(["ingest"])
    assert "holds the sample fleet as well, and every number is of both" in capsys.readouterr().err
