"""A log whose times are of another zone than they are read in, beside the scheduler's dump."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from tests.queries.engine import hearing, ingest, rows

BEGIN = datetime(2026, 3, 10, 10, tzinfo=UTC)


# by how many hours the log is behind, the state of the row, and whether it is told of
CASES = {
    "before it began": (-4, "RUNNING", True),
    "as it ran": (0, "COMPLETED", False),
    "after it ended": (3, "COMPLETED", True),
    "where it may have begun again since the dump": (3, "NODE_FAIL", False),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """By case the warehouse of its job of the scheduler and of a log of it, and what was warned of.

    Of the jobs of one ingest one is named: with each that is told of another goes that is not.
    """
    found = {}
    for pair in (["before it began", "as it ran"], [*CASES][2:]):
        folder = tmp_path_factory.mktemp("told")
        given = [write(folder, case) for case in pair]
        with hearing() as said:
            assert 0 == ingest(
                folder / "warehouse", *chain(*given), "--as-of", "2026-03-11T00:00:00Z"
            )
        found |= dict.fromkeys(pair, (folder / "warehouse", "\n".join(said)))
    return found


def write(folder: Path, case: str) -> list[Path]:
    number, (behind, state, _) = number_of(case), CASES[case]
    table, log = folder / f"sacct-{number}.txt", folder / f"{number}" / "train.log"
    begin = int(BEGIN.timestamp())
    end = "Unknown" if state == "RUNNING" else begin + 3600
    table.write_text(
        "JobID|Submit|Start|End|Elapsed|State|ExitCode|AllocTRES\n"
        f"{number}|{begin}|{begin}|{end}|01:00:00|{state}|0:0|gres/gpu=8\n"
    )
    began = f"Starting run vit-{number} SLURM_JOB_ID={number}"
    log.parent.mkdir()
    log.write_text(
        "".join(
            f"{BEGIN + timedelta(hours=behind, minutes=minute):%Y-%m-%d %H:%M:%S} {text}\n"
            for minute, text in enumerate((began, "step 10 loss 1", "step 20 loss 1"), 1)
        )
    )
    return [table, log]


def number_of(case: str) -> int:
    return 601 + [*CASES].index(case)


@pytest.mark.parametrize("case", CASES)
def test_a_launch_at_a_time_when_its_job_held_nothing_is_told_of(
    told: dict[str, tuple[Path, str]], case: str
) -> None:
    (warehouse, warned), number, (*_, is_told) = told[case], number_of(case), CASES[case]
    found = rows(
        warehouse,
        "select detail from anomalies where kind = 'outside_allocations' and job_id = ?",
        [f"{number}"],
    )

    assert is_told == (f"scheduler's job {number} held nothing" in warned)
    assert is_told == bool(found)
    assert [(1,)] == rows(
        warehouse, "select count(*) from anomalies where kind = 'outside_allocations'"
    )
