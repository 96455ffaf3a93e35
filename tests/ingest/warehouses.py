"""Dumps, the real command and what it published, for the tests of ingest."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from queries import published
from tests.oracle.fleets import Fields, random_fleet
from tests.queries.engine import reading

ROOT = Path(__file__).parents[2]
STARTED_AT = 1_772_323_200  # 2026-03-01T00:00:00Z

# everything that readers see and that must not depend on the way the dumps came in
VIEWS = (
    "attempts",
    "area_by_attempt",
    "attempt_days",
    "team_day_totals",
    "team_day",
    "day_latencies",
    "stage_by_attempt",
    "failures_by_team_day",
    "save_times",
    "jobs",
    "identity_by_day",
    "anomalies",
    "days",
)
# of a line that several dumps have, the one that was ingested first is named
_TOLD = {"attempts": "* exclude (failure_evidence_file)"}
# as the page of a job reads it: the rows of each job in the one file that is named for it
_DETAIL = (
    # of a job in several files only one counts
    "select held.job_id, attempt, kind, name, category, stage, rank, started_us, ended_us, step, "
    "detail "
    "from read_parquet($paths, filename = 'written') as told inner join job_details as held "
    "on told.job_no = held.job_no and parse_filename(told.written) = held.file order by all"
)


# said where an ingest takes ten seconds: on a slow machine any does
_PROGRESS = re.compile(r"^INFO ingest: \d+ % of .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """What a command said, but how far it was, and how it ended."""

    status: int
    out: str
    err: str


def command(warehouse: Path, *arguments: object) -> list[str]:
    """The command line of an ingest in a process of its own, as users run it."""
    script = Path(sys.executable).with_name("ett-ingest")
    return [str(script), *map(str, ("--warehouse", warehouse, *arguments))]


def run(
    warehouse: Path,
    *arguments: object,
    said: bytes = b"",
    environment: Mapping[str, str] | None = None,
    folder: Path = ROOT,
    wrapped: Sequence[str] = (),
) -> Run:
    """Run `ett-ingest` in a process of its own, with `said` on its standard input."""
    done = subprocess.run(
        [*wrapped, *command(warehouse, *arguments)],
        input=said,
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        timeout=300,
    )
    return Run(done.returncode, done.stdout.decode(), _PROGRESS.sub("", done.stderr.decode()))


def alive(job: str, second: int = 0, **more: object) -> dict[str, object]:
    """A native event that says nothing but that a job lives."""
    return {"ts": STARTED_AT + second, "event": "alive", "job_id": job} | more


def takes_memory(job: str) -> str:
    """A dump that takes more than 256 MiB to load: each line has a large field of its own."""
    note = "x" * 10_000
    lines = (json.dumps({**alive(job, second), "note": note}) for second in range(3_000))
    return "".join(f"{line}\n" for line in lines)


def life(job: str, seconds: int = 600, **more: object) -> list[dict[str, object]]:
    """A job of one attempt that trains from its start to its end."""
    start = {"ts": STARTED_AT, "job_id": job, "gpus": 8} | more
    return [
        start | {"event": "attempt_start"},
        start | {"event": "phase_start", "phase": "training"},
        start | {"event": "phase_end", "phase": "training", "ts": STARTED_AT + seconds},
        start | {"event": "attempt_end", "ts": STARTED_AT + seconds, "outcome": "completed"},
    ]


def fleet(seed: int, size: int = 4, prefix: str = "") -> list[Fields]:
    """The events of several random fleets, in no order. Names of jobs begin with the prefix."""
    events = [
        event
        for number in range(size)
        for event in random_fleet(seed * 1_000 + number, prefix=f"{prefix}{number}-")
    ]
    random.Random(seed).shuffle(events)
    return events


def kept(warehouse: Path, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """Run a select on the writer's file, which no ingest has open."""
    with reading(warehouse / "warehouse.duckdb") as reader:
        return reader.execute(sql, parameters).fetchall()


def contents(warehouse: Path, views: Iterable[str] = VIEWS) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the views, and of the detail of every attempt, in one order."""
    with reading(published(warehouse)) as reader:
        found = {
            view: reader.execute(
                f"select {_TOLD.get(view, '*')} from {view} order by all"
            ).fetchall()
            for view in views
        }
        names = [name for (name,) in reader.execute("select file from detail_files").fetchall()]
        paths = [str(warehouse / "detail" / name) for name in names]
        if paths:
            found["detail"] = reader.execute(_DETAIL, {"paths": paths}).fetchall()
        return found


def differences(expected: Path, actual: Path) -> dict[str, tuple[object, object]]:
    """For each view that differs between two warehouses, a few rows that only one of them has."""
    one, other = contents(expected), contents(actual)
    return {
        view: (_only(one[view], other.get(view, [])), _only(other.get(view, []), one[view]))
        for view in one
        if one[view] != other.get(view)
    }


def _only(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    known = set(map(repr, others))
    return [row for row in rows if repr(row) not in known][:3]
