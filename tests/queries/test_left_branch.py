"""A job that goes on from where it was before it began anew by mistake: told of, its numbers are
those of METRICS.md, which takes the newest save with the step that was resumed or less.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ingest.warehouses import differences
from tests.queries.engine import areas, ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z
TOLD = "select job_id, attempt, detail from anomalies where kind = 'left_branch'"


def attempt(
    number: int, *steps: int, resumes_at: int | None = None, outcome: str = "failed"
) -> list[dict[str, Any]]:
    """An attempt of a thousand seconds that trains from its second 10 and saves each 100 s."""
    begins = START + 1000 * number
    of = {"job_id": "a", "attempt": number}
    training = {**of, "ts": begins + 10, "event": "phase_start", "phase": "training"}
    saves = [
        {
            **of,
            "ts": begins + 100 * index,
            "end_ts": begins + 100 * index + 5,
            "event": "phase_start",
            "phase": "checkpoint_save",
            "step": step,
        }
        for index, step in enumerate(steps, 1)
    ]
    return [
        {**of, "ts": begins, "event": "attempt_start", "gpus": 8},
        training if resumes_at is None else {**training, "resumed_from_step": resumes_at},
        *saves,
        {**of, "ts": begins + 900, "event": "attempt_end", "outcome": outcome},
    ]


def test_an_attempt_that_goes_on_from_before_one_that_began_anew_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pieces = [
        attempt(1, 19, 38),
        attempt(2, 8, 16, outcome="cancelled"),
        attempt(3, 57, resumes_at=38, outcome="completed"),
    ]
    dump = write_dump(tmp_path / "a.jsonl", [event for piece in pieces for event in piece])
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, dump)

    what = (
        "resumed at step 38, which attempt 1 had saved; as restored counts step 16, "
        "which attempt 2 saved after it"
    )
    assert [("a", 3, f"{what} at 2026-03-01T00:36:40.000Z")] == rows(warehouse, TOLD)
    assert f"job a: {what}. If it went on from the earlier save" in caplog.text
    assert areas(warehouse, "a", 1)["effective"] == 190 - 5
    assert areas(warehouse, "a", 2)["effective"] == 190 - 5
    for number, piece in reversed(list(enumerate(pieces))):
        ingest(tmp_path / "back", write_dump(tmp_path / f"{number}.jsonl", piece))
    assert {} == differences(warehouse, tmp_path / "back")


OTHERS = {
    "goes on": [attempt(1, 19, 38), attempt(2, 57, resumes_at=38)],
    "resumes from the newer of one step": [
        attempt(1, 19, 38),
        attempt(2, 19, resumes_at=0),
        attempt(3, 38, resumes_at=19),
    ],
    "nobody saved that step": [
        attempt(1, 19, 38),
        attempt(2, 8, 16),
        attempt(3, 24, resumes_at=30),
    ],
    "within one attempt": [attempt(1, 38, 19), attempt(2, 57, resumes_at=38)],
    "what came between completed and loses nothing": [
        attempt(1, 19, 38),
        attempt(2, 8, 16, outcome="completed"),
        attempt(3, 57, resumes_at=38),
    ],
    "says nothing": [attempt(1, 19, 38), attempt(2, 8, 16), attempt(3, 24)],
}


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of a job for each of them."""
    folder = tmp_path_factory.mktemp("others")
    events = [
        {**event, "job_id": job}
        for job, attempts in OTHERS.items()
        for piece in attempts
        for event in piece
    ]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "a.jsonl", events))
    return folder / "warehouse"


@pytest.mark.parametrize("job", OTHERS)
def test_others_are_not(job: str, others: Path) -> None:
    assert [(len(OTHERS[job]),)] == rows(
        others, "select attempts from jobs where job_id = ?", [job]
    )
    assert [] == rows(others, f"{TOLD} and job_id = ?", [job])
