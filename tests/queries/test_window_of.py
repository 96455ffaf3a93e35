"""What `window_of` counts and ranks over attempts, against the attempts one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sample_data import cli
from tests.oracle import measures
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


def test_a_suspended_attempt_is_there_on_the_days_of_its_wall_time_and_of_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    zone = "America/New_York"  # its midnights are not those of UTC
    told = [suspended(chance, number) for number in range(80)]
    settings = tmp_path / "ett.toml"
    settings.write_text(f'timezone = "{zone}"\n', encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    load_rows(tmp_path, *told)

    present = [days_of(each, ZoneInfo(zone)) for each in told]
    for first in (date(2026, 3, 1) + timedelta(days=passed) for passed in range(14)):
        for length in (1, 3, 7):
            last = first + timedelta(days=length - 1)
            there = sum(any(first <= day <= last for day in days) for days in present)
            shown = rows(
                tmp_path / "warehouse",
                "select jobs, attempts from window_of('fleet', 'all', ?, ?)",
                [first, last],
            )

            assert [(there, there)] == shown, (first, last)
            if length == 1:
                by_day = rows(
                    tmp_path / "warehouse",
                    "select jobs_running, attempts_running from team_day "
                    "where team = 'fleet' and workload = 'all' and day = ?",
                    [first],
                )
                assert ([(there, there)] if there else []) == by_day, first


@pytest.fixture(scope="module")
def for_hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of two attempts, each of which was suspended for the whole of a day of its."""
    folder = tmp_path_factory.mktemp("for-hours")
    load_rows(
        folder,
        Suspended(1, datetime(2026, 3, 1, 6), 3600, 2 * 86400, team="ends"),
        Suspended(2, datetime(2026, 3, 1, 23), 0, 2 * 3600, team="begins"),
    )
    return folder / "warehouse"


def test_a_day_with_no_more_than_an_end_took_no_gpu_seconds_and_knows_of_no_saves(
    for_hours: Path,
) -> None:
    assert [(1, 3600 * 8, 3600 * 8, None), (3, 0, 0, None)] == rows(
        for_hours,
        "select day(day), gpu_seconds, uninstrumented_gpu_seconds, checkpoint_saves "
        "from team_day where team = 'ends' and workload = 'all' order by day",
    )
    assert [(None,)] == rows(
        for_hours,
        "select checkpoint_saves from window_of('ends', 'all', ?, ?)",
        [date(2026, 3, 1), date(2026, 3, 3)],
    )


def test_a_day_that_an_attempt_began_on_and_was_suspended_all_of_took_no_gpu_seconds(
    for_hours: Path,
) -> None:
    assert [(1, 0, 0, 0), (2, 0, 0, 0)] == rows(
        for_hours,
        "select day(day), wall_seconds, gpu_seconds, uninstrumented_gpu_seconds "
        "from team_day where team = 'begins' and workload = 'all' order by day",
    )


def load_rows(folder: Path, *told: Suspended) -> None:
    """Ingest a table of these rows into a warehouse in the folder."""
    lines = ["JobID|Account|State|Start|End|Elapsed|Suspended|AllocTRES", *map(line_of, told)]
    dump = folder / "sacct.txt"
    dump.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert 0 == ingest(folder / "warehouse", dump)


@dataclass(frozen=True, slots=True)
class Suspended:
    """A scheduler's row, in seconds of UTC."""

    job: int
    start: datetime
    wall: int
    suspended: int
    team: str = "vision"

    @property
    def end(self) -> datetime:
        return self.start + timedelta(seconds=self.wall + self.suspended)


def suspended(chance: random.Random, number: int) -> Suspended:
    """Some for days, some from beginning to end, some not at all."""
    start = datetime(2026, 3, 2) + timedelta(seconds=chance.randrange(5 * 86400))
    wall = chance.choice([0, 1, 3600, chance.randrange(1, 2 * 86400)])
    return Suspended(number, start, wall, chance.choice([0, 5, chance.randrange(6 * 86400)]))


def line_of(told: Suspended) -> str:
    return (
        f"{100 + told.job}|{told.team}|COMPLETED|{told.start.isoformat()}|{told.end.isoformat()}|"
        f"{clock(told.wall)}|{clock(told.suspended)}|gres/gpu=8"
    )


def clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def days_of(told: Suspended, zone: ZoneInfo) -> set[date]:
    """The days that it spent wall time on, and its last."""
    start, end = (
        measures.microseconds(f"{instant.isoformat()}+00:00") for instant in (told.start, told.end)
    )
    worked = measures.Slice(start, start + told.wall * measures.SECOND_US, "uninstrumented")
    spent = measures.summed_by_day([worked] if told.wall else [], zone)
    return {day for day, _, _ in spent} | {measures.day_of(end, zone)}


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
