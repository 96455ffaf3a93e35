"""Async saves of whose uploads nobody tells the end: told of, since what they saved is unsaved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.queries.engine import areas, ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z


def attempt(
    saves: int, *, begins: bool, ends: bool, outcome: str | None, ok: bool = True
) -> list[dict[str, Any]]:
    """An attempt that saves every 100 s; whether uploads begin, and end."""
    of = {"job_id": "a", "attempt": 1}
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


@pytest.mark.parametrize(
    ("told", "is_told"),
    [
        pytest.param(attempt(3, begins=True, ends=False, outcome="failed"), True, id="no end"),
        pytest.param(attempt(2, begins=True, ends=False, outcome="failed"), False, id="few"),
        pytest.param(attempt(3, begins=True, ends=True, outcome="failed"), False, id="ends"),
        pytest.param(
            attempt(3, begins=False, ends=False, outcome="failed"), False, id="no uploads"
        ),
        pytest.param(attempt(3, begins=True, ends=False, outcome=None), False, id="running"),
    ],
)
def test_saves_of_whose_uploads_nobody_tells_the_end_are_told_of(
    told: list[dict[str, Any]], is_told: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse, last = tmp_path / "warehouse", "2026-03-01T00:30:00Z"

    assert 0 == ingest(warehouse, write_dump(tmp_path / "a.jsonl", told), "--as-of", last)

    found = rows(warehouse, "select detail from anomalies where kind = 'never_durable'")
    what = "3 async saves of attempt 1 went well, and of none is told that its upload did"
    assert [True] * is_told == [detail.startswith(what) for (detail,) in found]
    assert is_told == (f"job a: {what}" in caplog.text)
    if is_told:
        assert areas(warehouse, "a", 1)["unsaved"] == 390 - 15
