"""Runs of two clusters that call themselves by one name count as one: told of, never hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import one_job
from tests.queries.engine import ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z


def run(path: Path, *, attempt: int, begins: int) -> Path:
    """A run of a quarter of an hour that calls itself by the scheduler's number."""
    of = {"job_id": "17", "attempt": attempt}
    return write_dump(
        path,
        [
            {**of, "ts": begins, "event": "attempt_start", "gpus": 8},
            {**of, "ts": begins + 60, "event": "phase_start", "phase": "training"},
            {**of, "ts": begins + 900, "event": "attempt_end", "outcome": "completed"},
        ],
    )


@pytest.mark.parametrize(
    ("attempt", "cluster", "detail"),
    [
        pytest.param(1, "b", "attempt 1 is told of on 2 clusters, such as a and b", id="one name"),
        pytest.param(1, "a", None, id="one cluster"),
        pytest.param(2, "b", None, id="goes on elsewhere"),
    ],
)
def test_an_attempt_that_two_clusters_tell_of_is_told_of(
    attempt: int,
    cluster: str,
    detail: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    warehouse = tmp_path / "warehouse"
    one = run(tmp_path / "one.jsonl", attempt=1, begins=START)
    other = run(tmp_path / "other.jsonl", attempt=attempt, begins=START + 7_200)

    ingest(warehouse, one, "--cluster", "a")
    ingest(warehouse, other, "--cluster", cluster)

    asked = "select detail from anomalies where kind = 'clusters_at_once'"
    found = [told for (told,) in rows(warehouse, asked)]
    wanted = [] if detail is None else [f"{detail} at 2026-03-01T02:00:00.000Z"]
    assert wanted == found
    assert ("two runs that share a name" in caplog.text) is (detail is not None)
    assert "clusters_at_once" in one_job.DOUBTS
