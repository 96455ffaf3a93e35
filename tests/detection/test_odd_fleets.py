"""Fleets in which nothing got worse but much is odd: nothing opens, and each series says why."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.detection.dumps import BEGINS, DAY, PHASES
from tests.queries.engine import ingest, rows, write_dump

DAYS = 100
EARLIER = 365  # the clock of `jumping` is a year behind up to day 80
HOSTILE = "a'b\"; drop table days; --<b>%_\\ \u00fc\u202e"


def job(name: str, team: str, day: int, seconds: dict[str, float]) -> Iterator[dict[str, Any]]:
    """The events of a job that starts, trains for some minutes and ends."""
    base: dict[str, Any] = {"job_id": name, "attempt": 1}
    at = BEGINS + day * DAY + 3600.0
    yield base | {"ts": at, "event": "job", "team": team, "gpus": 8}
    for phase, took in [*seconds.items(), ("training", 900.0), ("shutdown", 20.0)]:
        yield base | {"ts": at, "end_ts": at + took, "event": "phase_start", "phase": phase}
        at += took
    yield base | {"ts": at, "event": "attempt_end", "outcome": "completed"}


def usual(chance: random.Random) -> dict[str, float]:
    return {phase: took * chance.lognormvariate(0, 0.4) for phase, took in PHASES.items()}


def odd_fleet() -> Iterator[dict[str, Any]]:
    """Teams that are each odd in one way, two jobs a day."""
    chance = random.Random(3)
    for day in range(DAYS):
        for number in range(2):
            name = f"{day}-{number}"
            yield from job(f"f{name}", "fleet", day, usual(chance))
            yield from job(f"o{name}", "other", day, usual(chance))
            yield from job(f"h{name}", HOSTILE, day, usual(chance))
            yield from job(f"c{name}", "constant", day, PHASES)
            yield from job(f"r{name}", "before" if day < 50 else "after", day, usual(chance))
            without = {phase: took for phase, took in PHASES.items() if phase != "pt2_compile"}
            yield from job(f"n{name}", "null for months", day, PHASES if day < 20 else without)
            if not 40 <= day < 60:
                yield from job(f"g{name}", "gap", day, usual(chance))
            if day >= 90:
                yield from job(f"a{name}", "appeared", day, usual(chance))
            if day < 30:
                yield from job(f"v{name}", "vanished", day, usual(chance))
            jumped = day - EARLIER * (day < 80)
            yield from job(f"j{name}", "jumping", jumped, usual(chance))
        if day % 7 == 0:
            yield from job(f"w{day}", "weekly", day, usual(chance))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")

    assert 0 == ingest(
        folder / "warehouse",
        write_dump(folder / "odd.jsonl", odd_fleet()),
        "--as-of",
        datetime.fromtimestamp(BEGINS + DAYS * DAY, UTC).isoformat(),
    )
    return folder / "warehouse"


def test_nothing_opens_and_nothing_fails(warehouse: Path) -> None:
    assert [(None,)] == rows(warehouse, "select failed_because from detector")
    assert [] == rows(warehouse, "select team, metric from regressions where was_open")
    assert [] == rows(warehouse, "select team, metric from quiet_series where held_back_by is null")


def test_teams_with_reserved_names_and_with_odd_ones_have_series_of_their_own(
    warehouse: Path,
) -> None:
    teams = {team for (team,) in rows(warehouse, "select distinct team from quiet_series")}

    assert {"fleet", "fleet (team)", "other (team)", HOSTILE} <= teams
    assert "other" not in teams


@pytest.mark.parametrize(
    ("team", "metric", "reason"),
    [
        ("constant", "trainer_init_seconds", "not_enough_evidence"),
        ("gap", "trainer_init_seconds", "not_enough_evidence"),
        ("null for months", "pt2_compile_seconds", "no_data"),
        ("vanished", "trainer_init_seconds", "no_data"),
        ("before", "trainer_init_seconds", "no_data"),
        ("after", "trainer_init_seconds", "baseline_too_short"),
        ("appeared", "trainer_init_seconds", "baseline_too_short"),
        ("jumping", "trainer_init_seconds", "baseline_too_short"),
        ("weekly", "trainer_init_seconds", "too_few_attempts"),
    ],
)
def test_each_series_says_why_nothing_is_told(
    team: str, metric: str, reason: str, warehouse: Path
) -> None:
    assert [(reason,)] == rows(
        warehouse,
        "select held_back_by from quiet_series where team = ? and metric = ?",
        [team, metric],
    )
