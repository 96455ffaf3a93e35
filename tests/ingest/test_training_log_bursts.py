"""Logs whose steps came late, many at a time, since what printed them was buffered."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ingest.collectors.training_log import TRAINING_LOG
from ingest.collectors.training_log_bursts import Bursts
from tests.ingest.both_ways import told
from tests.ingest.torchelastic_dumps import begins, finishes, starts, written
from tests.queries.engine import areas, ingest, rows, write_dump

_WARNING = "written many at a time"


def _log(*seconds: float, label: str = "") -> list[bytes]:
    """A step at each time."""
    lines = ["2026-03-01T10:00:00.000000+0000 tokens per iteration will be: 32"]
    for step, at in enumerate(seconds, 1):
        minute, second = divmod(at, 60)
        time = f"2026-03-01T10:{int(minute):02}:{second:09.6f}+0000"
        lines.append(f"{time} {label}iter {step}: loss 10.8, time 519.59ms, mfu 0.00%")
    return [line.encode() for line in lines]


def _bursts(*at: float, size: int = 40) -> list[float]:
    return [since + place * 5e-6 for since in at for place in range(size)]


@pytest.mark.parametrize("at_once", [None, 1, 7, 10_000])
@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(_bursts(62.3), id="all at its end"),
        pytest.param(_bursts(62.3, 122.1, 190.4), id="a buffer at a time"),
        pytest.param([at // 1 for at in _bursts(62.3, 122.1)], id="whole seconds"),
    ],
)
def test_a_log_that_was_buffered_is_warned_of(
    seconds: list[float], at_once: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    told(TRAINING_LOG, _log(*seconds), at_once)

    assert _WARNING in caplog.text


@pytest.mark.parametrize("at_once", [None, 1, 10_000])
@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param([60 + at / 2 for at in range(90)], id="two a second"),
        pytest.param([60 + at // 20 for at in range(90)], id="twenty in each whole second"),
        pytest.param([*_bursts(60.1, size=9), *range(70, 90)], id="a few at its begin"),
        pytest.param([60.3 + at / 200 for at in range(900)], id="two hundred a second"),
        pytest.param([64.3 + at // 99 * 5 + at / 500 for at in range(900)], id="with pauses"),
    ],
)
def test_a_log_that_was_written_as_it_went_is_not(
    seconds: list[float], at_once: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    told(TRAINING_LOG, _log(*seconds), at_once)

    assert _WARNING not in caplog.text


def test_ranks_that_tell_the_same_step_at_once_were_not_buffered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seconds = [60.0 + 5 * at for at in range(20)]
    ranks = [_log(*seconds, label=f"[rank{rank}]: ") for rank in range(16)]
    told(TRAINING_LOG, [line for lines in zip(*ranks, strict=True) for line in lines], None)

    assert _WARNING not in caplog.text


def test_steps_that_come_together_are_heard_as_one_by_one() -> None:
    chance = np.random.default_rng(1)
    for _ in range(200):
        pauses = chance.choice(
            [5, 900, 9_999, 10_001, 500_000, 4_000_000], 60, p=[0.7] + [0.06] * 5
        )
        at_us = np.cumsum(pauses) + 1_000_000
        cuts = sorted({1, 60, *chance.integers(1, 60, 4).tolist()})
        alone, together = Bursts(), Bursts()
        for step, at in enumerate(at_us.tolist(), 1):
            alone.hear(step, at, 0)
        together.hear(1, int(at_us[0]), 0)
        for begin, end in pairwise(cuts):
            together.hear_many(np.arange(begin + 1, end + 1), at_us[begin:end])

        assert vars(alone) == vars(together)
        assert alone.are_most == together.are_most


def test_all_time_of_its_job_is_uninstrumented_and_says_why(tmp_path: Path) -> None:
    log = tmp_path / "slurm-7.out"
    log.write_bytes(b"\n".join([*_log(*_bursts(62.25, 122.0)), b""]))
    table = tmp_path / "sacct.txt"
    table.write_text(
        "JobID|State|Submit|Start|End|AllocTRES\n"
        "7|TIMEOUT|2026-03-01T09:50:00|2026-03-01T09:58:00|2026-03-01T10:08:00|gres/gpu=8\n"
    )
    late = {"job_id": "told so", "attempt": 1}
    events = write_dump(
        tmp_path / "events.jsonl",
        [
            {**late, "ts": 1_772_323_200, "event": "phase_start", "phase": "training"},
            {**late, "ts": 1_772_323_300, "event": "alive", "stage": "buffered"},
            {**late, "ts": 1_772_323_300, "event": "attempt_end", "outcome": "completed"},
            {**late, "job_id": "as it went", "ts": 1_772_323_200, "event": "attempt_start"},
            {**late, "job_id": "as it went", "ts": 1_772_323_200, "event": "phase_start"}
            | {"phase": "training"},
            {**late, "job_id": "as it went", "ts": 1_772_323_300, "event": "alive", "stage": "x"},
            {**late, "job_id": "as it went", "ts": 1_772_323_300, "event": "attempt_end"}
            | {"outcome": "completed"},
        ],
    )
    steps = [f"2026-11-20 05:42:25,100 - INFO - step: {step} loss: 2.1" for step in range(1, 30)]
    (tmp_path / "beside").mkdir()
    agents = written(tmp_path / "beside", *begins(0), *starts(2), *steps, *finishes(90))
    warehouse = tmp_path / "warehouse"

    assert 0 == ingest(warehouse, log, table, events, agents)

    assert {"uninstrumented": 92.0} == areas(warehouse, "run-a", 1)
    assert {"uninstrumented": 600.0} == areas(warehouse, "7", 1)
    assert {"uninstrumented": 100.0} == areas(warehouse, "told so", 1)
    assert {"effective": 100.0} == areas(warehouse, "as it went", 1)
    what = "its log was written many lines at a time"
    assert [("7", 1, True), ("run-a", 1, True), ("told so", 1, True)] == rows(
        warehouse,
        "select job_id, attempt, starts_with(detail, ?) from anomalies "
        "where kind = 'buffered' order by 1",
        [what],
    )
