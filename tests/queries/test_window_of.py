"""What `window_of` counts and ranks over attempts, against the attempts one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from sample_data import cli
from tests.queries.engine import ingest, rows, table

pytestmark = pytest.mark.slow

LAST_DAY = date(2026, 3, 31)
DAYS = 24
FIGURES = (
    "jobs",
    "attempts",
    "preempted_job_ratio",
    "tts_count",
    "tts_p50_seconds",
    "tts_p90_seconds",
    "ttr_count",
    "ttr_p50_seconds",
    "ttr_p90_seconds",
    "checkpoint_save_p50_seconds",
    "checkpoint_save_p90_seconds",
    "checkpoint_save_p99_seconds",
)


@dataclass(frozen=True, slots=True)
class Fleet:
    """A warehouse, with its attempts and saves as rows."""

    warehouse: Path
    attempts: list[dict[str, Any]]
    saves: list[dict[str, Any]]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("windows")
    size = f"--days {DAYS} --teams 2 --jobs-per-day 12 --broken 0".split()
    cli.main(["--out", str(folder / "dumps"), "--end", str(LAST_DAY), *size])
    assert 0 == ingest(folder / "warehouse", *sorted((folder / "dumps").glob("*.jsonl")))
    return Fleet(
        folder / "warehouse",
        table(folder / "warehouse", "from attempts where is_counted"),
        table(folder / "warehouse", "from save_times"),
    )


def test_a_window_is_what_its_attempts_and_saves_say(fleet: Fleet) -> None:
    chance = random.Random(5)
    for _ in range(40):
        team = chance.choice(["fleet", "ranking", "feed", "nobody"])
        workload = chance.choice(["all", "production", "exploration"])
        last = LAST_DAY - timedelta(days=chance.randrange(-2, DAYS))
        first = last - timedelta(days=chance.choice([0, 1, 6, DAYS]))
        scope = (team, workload, first, last)
        [shown] = rows(
            fleet.warehouse, f"select {', '.join(FIGURES)} from window_of(?, ?, ?, ?)", scope
        )

        assert expected(fleet, *scope) == dict(zip(FIGURES, shown, strict=True)), scope


def expected(fleet: Fleet, team: str, workload: str, first: date, last: date) -> dict[str, Any]:
    """The figures, attempt by attempt."""

    def mine(each: dict[str, Any]) -> bool:
        return team in ("fleet", each["team"]) and workload in ("all", each["workload"])

    attempts = [each for each in fleet.attempts if mine(each)]
    ran = [each for each in attempts if each["started_day"] <= last and each["ended_day"] >= first]
    jobs = {each["job_id"] for each in ran}
    stopped = {
        each["job_id"]
        for each in ran
        if each["outcome"] == "preempted" and first <= each["ended_day"] <= last
    }
    figures: dict[str, Any] = {
        "jobs": len(jobs),
        "attempts": len(ran),
        "preempted_job_ratio": len(stopped) / len(jobs) if jobs else None,
    }
    for wait in ("tts", "ttr"):
        waits = [
            each[f"{wait}_us"]
            for each in attempts
            if each[f"{wait}_us"] is not None and first <= each["first_batch_day"] <= last
        ]
        figures[f"{wait}_count"] = len(waits)
        for percent in (50, 90):
            figures[f"{wait}_p{percent}_seconds"] = nearest_rank(waits, percent)
    saves = [each["save_us"] for each in fleet.saves if mine(each) and first <= each["day"] <= last]
    for percent in (50, 90, 99):
        figures[f"checkpoint_save_p{percent}_seconds"] = nearest_rank(saves, percent)
    return figures


def nearest_rank(us: Sequence[int], percent: int) -> float | None:
    """In seconds; None of nothing."""
    return sorted(us)[math.ceil(len(us) * percent / 100) - 1] / 1e6 if us else None
