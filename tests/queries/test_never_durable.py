"""Async saves of whose uploads nobody tells the end: told of, since what they saved is unsaved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.queries.engine import areas, hearing, ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z


def attempt(
    saves: int, *, begins: bool, ends: bool, outcome: str | None, ok: bool = True, job: str = "a"
) -> list[dict[str, Any]]:
    """An attempt that saves every 100 s; whether uploads begin, and end."""
    of = {"job_id": job, "attempt": 1}
    save = {**of, "phase": "checkpoint_save", "mode": "async"}
    events: list[dict[str, Any]] = [
        {**of, "ts": START, "event": "attempt_start", "gpus": 8},
        {**of, "ts": START + 10, "event": "phase_start", "phase": "training"},
    ]
    for step in range(1, saves + 1):
        at = START + 100 * step
        upload = {**of, "phase": "checkpoint_upload", "step": step}
        events.append({**save, "ts": at, "end_ts": at + 5, "event": "phase_start", "step": step})
        if begins:
            events.append({**upload, "ts": at + 5, "event": "phase_start"})
        if ends:
            events.append({**upload, "ts": at + 20, "event": "phase_end", "ok": ok})
    last = START + 100 * (saves + 1)
    if outcome is None:
        return [*events, {**of, "ts": last, "event": "alive"}]
    return [*events, {**of, "ts": last, "event": "attempt_end", "outcome": outcome}]


# whether it is told of, and how each attempt went
CASES: dict[str, tuple[bool, dict[str, Any]]] = {
    "no end": (True, {"saves": 3, "begins": True, "ends": False, "outcome": "failed"}),
    "few": (False, {"saves": 2, "begins": True, "ends": False, "outcome": "failed"}),
    "ends": (False, {"saves": 3, "begins": True, "ends": True, "outcome": "failed"}),
    "no uploads": (False, {"saves": 3, "begins": False, "ends": False, "outcome": "failed"}),
    "running": (False, {"saves": 3, "begins": True, "ends": False, "outcome": None}),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The warehouse of a job a case, which is called like it, and what its ingest warned of."""
    folder = tmp_path_factory.mktemp("told")
    events = [event for job, (_, how) in CASES.items() for event in attempt(**how, job=job)]
    dump = write_dump(folder / "dump.jsonl", events)
    with hearing() as said:
        assert 0 == ingest(folder / "warehouse", dump, "--as-of", "2026-03-01T00:30:00Z")
    return folder / "warehouse", "\n".join(said)


@pytest.mark.parametrize("job", CASES)
def test_saves_of_whose_uploads_nobody_tells_the_end_are_told_of(
    told: tuple[Path, str], job: str
) -> None:
    (warehouse, warned), (is_told, _) = told, CASES[job]
    found = rows(
        warehouse, "select detail from anomalies where kind = 'never_durable' and job_id = ?", [job]
    )
    what = "3 async saves of attempt 1 went well, and of none is told that its upload did"

    assert [True] * is_told == [detail.startswith(what) for (detail,) in found]
    assert is_told == (f"job {job}: {what}" in warned)
    if is_told:
        assert areas(warehouse, job, 1)["unsaved"] == 390 - 15
