"""A small fleet as a native dump, and what the published file of its warehouse then tells."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log2
from pathlib import Path
from typing import Any

import duckdb

from ingest import calendar
from queries import published, regression_tables
from queries.regressions import Settings

BEGINS = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
DAYS, SLOWER_FROM = 92, 78
DAY = 86_400
PHASES = {
    "scheduling": 12.0,
    "hardware_setup": 30.0,
    "launcher_init": 20.0,
    "trainer_init": 120.0,
    "pt2_compile": 60.0,
}
_SIZES = (8, 16, 64)


@dataclass(frozen=True, slots=True)
class Job:
    """A job of one attempt; `seconds` by phase, in milliseconds' steps."""

    name: str
    team: str
    day: int
    begins: float
    gpus: int
    workload: str
    model: str
    seconds: dict[str, float]
    trains: float
    shutdown: float
    outcome: str


def jobs(seed: int = 4) -> list[Job]:
    """Two teams, eight jobs a day each; from a day on `ranking` takes 1.6 times as long to init."""
    rng = random.Random(seed)
    return [
        _job(rng, team, day, number)
        for day in range(DAYS)
        for team in ("ranking", "feed")
        for number in range(8)
    ]


def _job(rng: random.Random, team: str, day: int, number: int) -> Job:
    gpus = rng.choice(_SIZES)
    slower = 1.6 if team == "ranking" and day >= SLOWER_FROM else 1.0
    seconds = {
        phase: round(
            median
            * rng.lognormvariate(0, 0.25)
            * (1 + 0.05 * log2(gpus))
            * (slower if phase == "trainer_init" else 1.0),
            3,
        )
        for phase, median in PHASES.items()
    }
    return Job(
        f"{team}-{day}-{number}",
        team,
        day,
        BEGINS + day * DAY + 3600.0 * (1 + 2 * number) + rng.randrange(1000),
        gpus,
        rng.choice(("production", "exploration")),
        rng.choice(("a", "b")),
        seconds,
        round(rng.uniform(1500, 3000), 3),
        round(30 * rng.lognormvariate(0, 0.3), 3),
        rng.choices(("completed", "preempted", "failed"), (0.86, 0.07, 0.07))[0],
    )


def events(told: list[Job]) -> Iterator[dict[str, Any]]:
    """The jobs as events, and one roll-out on the day of the change."""
    for job in told:
        yield from _events(job)
    yield {
        "ts": BEGINS + SLOWER_FROM * DAY + 1800,
        "event": "change",
        "name": "trainer 9",
        "team": "ranking",
        "description": "new trainer image",
    }


def _events(job: Job) -> Iterator[dict[str, Any]]:
    base = {"job_id": job.name, "attempt": 1}
    yield base | {
        "ts": job.begins,
        "event": "job",
        "team": job.team,
        "workload": job.workload,
        "model": job.model,
        "gpus": job.gpus,
    }
    at = job.begins
    for phase, seconds in job.seconds.items():
        if phase == "hardware_setup":
            yield base | {"ts": at, "event": "attempt_start"}
        span = {"event": "phase_start", "phase": phase}
        yield base | span | {"ts": at, "end_ts": at + seconds}
        at += seconds
    ends = at + job.trains
    yield base | {"ts": at, "end_ts": ends, "event": "phase_start", "phase": "training"}
    stops = ends + job.shutdown
    yield base | {"ts": ends, "end_ts": stops, "event": "phase_start", "phase": "shutdown"}
    yield base | {"ts": stops, "event": "attempt_end", "outcome": job.outcome}


def served(warehouse: Path, folder: Path) -> Path:
    """A copy of the published file with what got worse in it."""
    folder.mkdir()
    shutil.copy(warehouse / "warehouse.duckdb", folder / "warehouse.duckdb")
    shutil.copy(published(warehouse), folder / "serving.duckdb")
    with duckdb.connect(str(folder / "warehouse.duckdb")) as connection:
        connection.execute("set TimeZone = 'UTC'")
        calendar.lay_out(connection, BEGINS * 10**6, (BEGINS + DAYS * DAY) * 10**6, "UTC")
        path = str(folder / "serving.duckdb").replace("'", "''")
        connection.execute(f"attach '{path}' as serving")
        connection.execute("use serving")
        regression_tables.serve(connection, Settings())
        connection.execute("use warehouse")
        connection.execute("detach serving")
    return folder / "serving.duckdb"


def asked(serving: Path, select: str) -> list[tuple[Any, ...]]:
    """Rows of a select on a served file."""
    with duckdb.connect(str(serving), read_only=True) as reader:
        return reader.execute(select).fetchall()


def cells(warehouse: Path, select: str) -> list[tuple[Any, ...]]:
    """Rows of a select on the warehouse itself."""
    with duckdb.connect(str(warehouse / "warehouse.duckdb"), read_only=True) as reader:
        return reader.execute(select).fetchall()
