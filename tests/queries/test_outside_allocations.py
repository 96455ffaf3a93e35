"""A log whose times are of another zone than they are read in, beside the scheduler's dump."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.queries.engine import ingest, rows

BEGIN = datetime(2026, 3, 10, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("behind", "state", "is_told"),
    [
        pytest.param(-4, "RUNNING", True, id="before it began"),
        pytest.param(0, "COMPLETED", False, id="as it ran"),
        pytest.param(3, "COMPLETED", True, id="after it ended"),
        pytest.param(3, "NODE_FAIL", False, id="where it may have begun again since the dump"),
    ],
)
def test_a_launch_at_a_time_when_its_job_held_nothing_is_told_of(
    behind: int, state: str, is_told: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table, log, warehouse = (tmp_path / name for name in ("sacct.txt", "train.log", "warehouse"))
    begin = int(BEGIN.timestamp())
    end = "Unknown" if state == "RUNNING" else begin + 3600
    table.write_text(
        "JobID|Submit|Start|End|Elapsed|State|ExitCode|AllocTRES\n"
        f"601|{begin}|{begin}|{end}|01:00:00|{state}|0:0|gres/gpu=8\n"
    )
    log.write_text(
        "".join(
            f"{BEGIN + timedelta(hours=behind, minutes=minute):%Y-%m-%d %H:%M:%S} {text}\n"
            for minute, text in enumerate(
                ("Starting run vit SLURM_JOB_ID=601", "step 10 loss 1", "step 20 loss 1"), 1
            )
        )
    )

    assert 0 == ingest(warehouse, table, log, "--as-of", "2026-03-11T00:00:00Z")
    told = rows(warehouse, "select detail from anomalies where kind = 'outside_allocations'")
    assert is_told == ("scheduler's job 601 held nothing" in caplog.text)
    assert is_told == bool(told)
