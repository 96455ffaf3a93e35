"""The truth of a sample fleet agrees with METRICS.md, as its plain-Python oracle tells it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sample_data.fleet import of_size, write_fleet
from sample_data.planted import planted_regressions, roll_outs
from sample_data.rendering import Cloning
from sample_data.settings import Settings
from sample_data.teams import fleet_teams
from tests.oracle.measures import AttemptMeasures, Measures, measure

LAST_DAY = date(2026, 3, 31)
TEAMS = fleet_teams(8)
TRUE = (
    "started_us",
    "ended_us",
    "outcome",
    "gpus",
    "areas",
    "recovery_us",
    "queue_us",
    "first_batch_us",
    "tts_us",
    "ttr_us",
    "ttr_without_queue_us",
)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The truth of a fleet in which nothing is planted, large enough for what is rare."""
    return written(tmp_path_factory.mktemp("usual"), size=60_000, planted=False)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fleet some of whose lines are broken."""
    folder = tmp_path_factory.mktemp("broken")
    written(folder, size=20_000, days=20, broken=0.005)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 11])
def test_the_truth_is_what_the_definitions_say_for_every_attempt(seed: int, tmp_path: Path) -> None:
    truth = written(tmp_path, seed=seed, size=25_000)
    measured = measure(events(tmp_path))

    assert truth["clock_us"] == measured.clock_us
    assert attempts_of(measured) == attempts_in(truth)


def test_a_clone_is_its_original_at_another_time(tmp_path: Path) -> None:
    cloning = Cloning(copies=3, shift_us=600_001_000)
    truth = written(tmp_path, size=4_000, days=20, cloning=cloning)
    expected = {
        (f"{job}-c{copy:04d}" if copy else job, attempt): shifted(told, copy * cloning.shift_us)
        for (job, attempt), told in attempts_in(truth).items()
        for copy in range(3)
    }

    assert expected == attempts_of(measure(events(tmp_path)))


def test_every_kind_of_time_occurs(usual: dict[str, Any]) -> None:
    areas = Counter(area for told in attempts_in(usual).values() for area in told["areas"])

    assert {
        "scheduling",
        "hardware_setup",
        "launcher_init",
        "trainer_init",
        "pt2_compile",
        "checkpoint_load",
        "effective",
        "unsaved",
        "hang",
        "checkpoint_save",
        "evaluation",
        "data_wait",
        "shutdown",
        "unaccounted",
    } == areas.keys()


def test_every_outcome_occurs(usual: dict[str, Any]) -> None:
    assert {
        "completed",
        "failed",
        "preempted",
        "cancelled",
        "timeout",
        "lost",
        "running",
    } == {told["outcome"] for told in attempts_in(usual).values()}


def test_the_areas_of_every_attempt_sum_to_its_wall(usual: dict[str, Any]) -> None:
    attempts = attempts_in(usual).values()

    assert [told["ended_us"] - told["started_us"] for told in attempts] == [
        sum(told["areas"].values()) for told in attempts
    ]


def test_a_job_with_a_broken_line_is_not_complete(broken: Path) -> None:
    truth = truth_in(broken)
    incomplete = {job for job, told in truth["jobs"].items() if not told["is_complete"]}

    assert incomplete
    assert {line["job_id"] for line in truth["broken"]} == incomplete


def test_jobs_without_broken_lines_have_their_true_seconds_all_the_same(broken: Path) -> None:
    truth = truth_in(broken)
    spoiled = {(line["file"], line["line"]) for line in truth["broken"]}
    complete = {job for job, told in truth["jobs"].items() if told["is_complete"]}
    measured = attempts_of(measure(events(broken, without=spoiled)))

    assert {key: told for key, told in attempts_in(truth).items() if key[0] in complete} == {
        key: told for key, told in measured.items() if key[0] in complete
    }


def test_production_is_near_its_target_and_explores_less_well(usual: dict[str, Any]) -> None:
    production, exploration = (ett(usual, kind) for kind in ("production", "exploration"))

    assert 0.85 <= production <= 0.92
    assert exploration < production


def test_starting_takes_minutes(usual: dict[str, Any]) -> None:
    waits = sorted(told["tts_us"] for told in attempts_in(usual).values() if told["tts_us"])
    minutes = waits[len(waits) // 2] / 60e6

    assert 4 <= minutes <= 10


def written(
    folder: Path,
    seed: int = 7,
    size: int = 40_000,
    days: int = 60,
    broken: float = 0.0,
    planted: bool = True,
    cloning: Cloning | None = None,
) -> dict[str, Any]:
    """Write a fleet and read its truth."""
    regressions = planted_regressions(days, TEAMS) if planted else ()
    settings = Settings(LAST_DAY, days=days, seed=seed)
    fleet = of_size(size, settings, regressions, roll_outs(days, TEAMS))
    write_fleet(fleet, folder, broken_ratio=broken, cloning=cloning)
    return truth_in(folder)


def truth_in(folder: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    return truth


def events(folder: Path, without: set[tuple[str, int]] | None = None) -> list[dict[str, Any]]:
    spoiled = without or set()
    return [
        json.loads(line)
        for dump in sorted(folder.glob("events-*.jsonl"))
        for number, line in enumerate(dump.read_bytes().splitlines(), start=1)
        if (dump.name, number) not in spoiled
    ]


def attempts_in(truth: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    return {
        (job, told["attempt"]): {name: told[name] for name in TRUE}
        for job, of_job in truth["jobs"].items()
        for told in of_job["attempts"]
    }


def attempts_of(measured: Measures) -> dict[tuple[str, int], dict[str, Any]]:
    return {key: in_words_of_truth(attempt) for key, attempt in measured.attempts.items()}


def in_words_of_truth(attempt: AttemptMeasures) -> dict[str, Any]:
    areas: dict[str, int] = defaultdict(int)
    for (area, _), length in attempt.areas.items():
        areas[area] += length
    sums = {
        "areas": {area: length for area, length in areas.items() if length},
        "recovery_us": sum(length for (_, again), length in attempt.areas.items() if again),
    }
    return {name: sums[name] if name in sums else getattr(attempt, name) for name in TRUE}


def shifted(told: dict[str, Any], earlier_us: int) -> dict[str, Any]:
    times = {
        name: told[name] - earlier_us
        for name in ("started_us", "ended_us", "first_batch_us")
        if told[name] is not None
    }
    return told | times


def ett(truth: dict[str, Any], workload: str) -> float:
    effective = wall = 0
    for job in truth["jobs"].values():
        for told in job["attempts"] if job["workload"] == workload else []:
            effective += told["gpus"] * told["areas"].get("effective", 0)
            wall += told["gpus"] * (told["ended_us"] - told["started_us"])
    return effective / wall
