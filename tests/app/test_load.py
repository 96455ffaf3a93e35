"""`make load` in short: pages and scrapes while logs grow and are followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import load, sessions
from tests.app import serving

pytestmark = pytest.mark.slow


def test_clicks_and_scrapes_answer_while_all_that_logs_grow_by_is_ingested(tmp_path: Path) -> None:
    readers = sessions.Pace(sessions=50, seconds=60, line=30)
    measured = load.load(tmp_path, load.Demand(readers, quiet_seconds=5))

    assert [] == measured.busy.failures + measured.quiet.failures
    assert measured.is_good
    assert 0 < measured.written == measured.kept
    for part in (measured.busy, measured.quiet):
        assert part.seen.clicks
        assert part.scrapes
    assert {"dashboard", "exporter", "watcher"} == measured.busy.memory.keys()


def test_a_scrape_of_what_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    serving.publish(tmp_path, serving.fleet(days=3))
    (tmp_path / "CURRENT").write_text("serving-0.duckdb", encoding="utf-8")
    (tmp_path / "serving-0.duckdb").write_bytes(b"no database")
    with sessions.serving("app.monitoring.exporter", tmp_path) as (port, process):
        assert load.scrape(port)
        process.terminate()
        process.wait()

        assert "ConnectionRefusedError" in load.scrape(port)
