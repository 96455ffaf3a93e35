"""Runs of two clusters that call themselves by one name count as one: told of, never hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import one_job
from tests.queries.engine import hearing, ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z


def run(path: Path, job: str, *, attempt: int, begins: int) -> Path:
    """A run of a quarter of an hour that calls itself by the scheduler's number."""
    of = {"job_id": job, "attempt": attempt}
    return write_dump(
        path,
        [
            {**of, "ts": begins, "event": "attempt_start", "gpus": 8},
            {**of, "ts": begins + 60, "event": "phase_start", "phase": "training"},
            {**of, "ts": begins + 900, "event": "attempt_end", "outcome": "completed"},
        ],
    )


TWICE = "attempt 1 is told of on 2 clusters, such as a and b"
# the attempt that another run of the name says it is, its cluster, and what is told of both
CASES = {"one name": (1, "b", TWICE), "one cluster": (1, "a", None), "elsewhere": (2, "b", None)}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The warehouse of a job a case, which is called like it, and what was warned of."""
    folder = tmp_path_factory.mktemp("told")
    given: dict[str, list[Path]] = {"a": [], "b": []}
    first = [run(folder / f"{job}.jsonl", job, attempt=1, begins=START) for job in CASES]
    for job, (attempt, cluster, _) in CASES.items():
        other = run(folder / f"{job} again.jsonl", job, attempt=attempt, begins=START + 7_200)
        given[cluster].append(other)
    with hearing() as said:
        ingest(folder / "warehouse", *first, "--cluster", "a")
        for cluster, others in given.items():
            ingest(folder / "warehouse", *others, "--cluster", cluster)
    return folder / "warehouse", "\n".join(said)


@pytest.mark.parametrize("job", [*CASES], ids=["one name", "one cluster", "goes on elsewhere"])
def test_an_attempt_that_two_clusters_tell_of_is_told_of(told: tuple[Path, str], job: str) -> None:
    (warehouse, warned), (_, _, detail) = told, CASES[job]
    asked = "select detail from anomalies where kind = 'clusters_at_once' and job_id = ?"
    found = [said for (said,) in rows(warehouse, asked, [job])]
    wanted = [] if detail is None else [f"{detail} at 2026-03-01T02:00:00.000Z"]

    assert wanted == found
    of_two_runs = [line for line in warned.splitlines() if "two runs that share a name" in line]
    assert any(f"job {job}: " in line for line in of_two_runs) is (detail is not None)
    assert "clusters_at_once" in one_job.DOUBTS
