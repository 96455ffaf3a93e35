"""Jobs: found by whatever people call them, and why one is not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.opening import JOB, JOBS, OVERVIEW, open_page, said
from tests.queries.engine import ingest

SACCT = """\
JobID|JobName|User|Account|State|Submit|Start|End|AllocTRES
1002|train-llama-big|anna|nlp|COMPLETED|2026-03-01T00:00:00|2026-03-01T01:00:00|2026-03-01T05:00:00|gres/gpu=8
1003|eval|ben|vision|FAILED|2026-03-01T00:00:00|2026-03-01T02:00:00|2026-03-01T03:00:00|gres/gpu=8
"""


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scheduled")
    (folder / "sacct.txt").write_text(SACCT)
    (folder / "ett.toml").write_text('timezone = "Asia/Tokyo"\n[targets]\nfleet = 0.9\nnlp = 0.7\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETT_CONFIG", str(folder / "ett.toml"))
        ingest(folder / "warehouse", "--as-of", "2026-03-03T00:00:00Z", folder / "sacct.txt")
    return folder


@pytest.fixture
def scheduled(ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of both jobs; read it only."""
    monkeypatch.setenv("ETT_CONFIG", str(ingested / "ett.toml"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested / "warehouse"))
    return ingested / "warehouse"


@pytest.mark.parametrize("typed", ["1002", "LLAMA", "anna"])
def test_a_job_is_found_by_its_id_its_name_and_its_user(scheduled: Path, typed: str) -> None:
    [found] = open_page(JOBS, q=typed).dataframe

    assert [("1002", "train-llama-big", "anna")] == list(
        zip(*(found.value[name] for name in ("job_id", "job_name", "user_name")), strict=True)
    )
    told = " ".join(said(open_page(JOB, job="1002")))
    assert "train-llama-big" in told
    assert "anna" in told


def test_a_search_that_a_filter_narrows_says_so(scheduled: Path) -> None:
    told = " ".join(said(open_page(JOBS, q="llama", team="vision")))

    assert "No job of ` vision ` is like this" in told
    assert "look at all teams" in told


def test_days_of_another_zone_than_utc_are_told(scheduled: Path) -> None:
    assert any("by Asia/Tokyo" in text for text in said(open_page(OVERVIEW)))
