"""A log that tells one launch in several allocations of a scheduler: an anomaly says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ingest.warehouses import differences
from tests.queries.engine import ingest, rows

FOUND = "select job_id, attempt, detail from anomalies where kind = 'launch_over_allocations'"
TABLE = """JobID|Cluster|Submit|Start|End|State|AllocTRES|Restarts
{0}|c1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:20:00|NODE_FAIL|gres/gpu=8|0
{0}|c1|2026-03-01T10:20:00|2026-03-01T10:25:00|2026-03-01T10:55:00|COMPLETED|gres/gpu=8|1
"""


def write_log(folder: Path, *told: tuple[int, int, str], job: int = 77) -> Path:
    """Steps of these minutes after 10:00, each with a line before them."""
    lines = []
    for first, last, line in told:
        lines.append(f"2026-03-01 10:{first:02d}:00 {line}")
        lines += [f"2026-03-01 10:{at:02d}:30 step {at} loss 1" for at in range(first, last)]
    folder.mkdir(exist_ok=True)
    (folder / f"slurm-{job}.out").write_text("\n".join(lines) + "\n")
    (folder / "sacct.txt").write_text(TABLE.format(job))
    return folder


def test_a_launch_that_outlives_its_allocation_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dumps = write_log(tmp_path / "dumps", (1, 19, "begins"), (30, 50, "begins"))

    assert 0 == ingest(tmp_path / "warehouse", dumps)

    what = (
        "a log of 77 tells one launch in several allocations of the scheduler: it counts in "
        "number 2, and nothing of it in 1"
    )
    found = rows(tmp_path / "warehouse", FOUND)
    assert [("c1:77", None, f"{what} at 2026-03-01T10:01:00.000Z")] == found
    offsets = rows(tmp_path / "warehouse", "from anomalies where kind = 'clock_offset'")
    assert [] == offsets  # it tells nothing of clocks
    assert f"job c1:77: {what}. So some of what it trained" in caplog.text
    for dump in ("slurm-77.out", "sacct.txt"):
        assert 0 == ingest(tmp_path / "pieces", dumps / dump)
    assert {} == differences(tmp_path / "warehouse", tmp_path / "pieces")


OTHERS = {
    "each says": [(1, 19, "SLURM_JOB_ID={}"), (30, 50, "SLURM_RESTART_COUNT=1")],
    "resumes": [(1, 19, "begins"), (30, 50, "Resuming from step 18")],
    "a clock is behind by less than a minute": [(24, 50, "begins")],
    "the first alone": [(1, 19, "begins")],
}
JOBS = {said: job for job, said in enumerate(OTHERS, 78)}


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a job for each of them."""
    folder = tmp_path_factory.mktemp("others")
    dumps = []
    for said, told in OTHERS.items():
        job = JOBS[said]
        lines = [(first, last, line.format(job)) for first, last, line in told]
        dumps.append(write_log(folder / str(job), *lines, job=job))

    assert 0 == ingest(folder / "warehouse", *dumps)
    return folder / "warehouse"


@pytest.mark.parametrize("said", OTHERS)
def test_others_are_not(said: str, others: Path) -> None:
    job = f"c1:{JOBS[said]}"

    assert [(2,)] == rows(others, "select attempts from jobs where job_id = ?", [job])
    assert [] == rows(others, f"{FOUND} and (job_id = ? or job_id is null)", [job])
