"""A small published warehouse for the pages' tests, from hand-set attempts, without an ingest.

The tables that ingest would fill are simpler than the real ones on purpose; the views and macros
over them are queries' own.
"""

from __future__ import annotations

import io
import pickle
import random
import re
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from queries import AREAS, STARTUP_AREAS, model

SQL = Path(__file__).with_name("serving.sql")
LAST_DAY = date(2026, 3, 3)
HOSTILE = (
    "<img src=x onerror=alert(1)> **b** ![x](http://evil.test/x.png) '; drop table attempts; --"
)
FORMULA = '=HYPERLINK("http://evil.test")'
_MACRO = re.compile(r"^-- macro: (.+)$", re.MULTILINE)
FOREIGN = "\u0641\u0631\u064a\u0642 \U0001f680"  # right to left, and a picture
LONG = "W" * 256
ORDER = (*(area for area in AREAS if area != "shutdown"), "shutdown")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt with the seconds of each of its areas."""

    job_id: str
    number: int
    started_at: datetime
    areas: Mapping[str, float]
    outcome: str = "completed"
    team: str = "ranking"
    workload: str = "production"
    gpus: int | None = 8
    message: str | None = None
    model: str = "model-7"
    is_recovering: bool = False  # its predecessor was interrupted
    queue: float = 0.0
    tts: float | None = None
    ttr: float | None = None
    is_excluded: bool = False

    @property
    def seconds(self) -> float:
        return sum(self.areas.values())

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Warehouse:
    """What is published beside the attempts."""

    attempts: Sequence[Attempt]
    rejected: Sequence[tuple[str, int, str, str, str]] = ()
    anomalies: Sequence[tuple[str, int | None, str, str]] = ()
    regressions: Sequence[Mapping[str, Any]] = ()
    price: tuple[float, str] | None = None
    targets: Mapping[str, float] = field(default_factory=lambda: {"fleet": 0.9})
    last_complete_day: date | None = LAST_DAY
    data_at: datetime | None = datetime(2026, 3, 4, 5, 0)
    published_at: datetime = datetime(2026, 3, 4, 5, 10)


def publish(folder: Path, warehouse: Warehouse, sequence: int = 1) -> Path:
    """Write detail files, the serving file and CURRENT; returns the serving file."""
    (folder / "detail").mkdir(parents=True, exist_ok=True)
    path = folder / f"serving-{sequence}.duckdb"
    path.unlink(missing_ok=True)
    # many tests publish the same: it is built once
    served, detail = _built(pickle.dumps(warehouse), sequence)
    path.write_bytes(served)
    (folder / "detail" / _detail_name(sequence)).write_bytes(detail)
    (folder / "CURRENT.new").write_text(path.name, encoding="utf-8")
    (folder / "CURRENT.new").rename(folder / "CURRENT")
    return path


@lru_cache(maxsize=16)
def _built(pickled: bytes, sequence: int) -> tuple[bytes, bytes]:
    """The serving file and the detail file of a pickled warehouse, which alone can be a key."""
    warehouse: Warehouse = pickle.loads(pickled)
    rows = [row for attempt in warehouse.attempts for row in _detail_rows(attempt)]
    detail = io.BytesIO()
    pl.DataFrame(rows, schema=_DETAIL).write_parquet(detail)
    name = _detail_name(sequence)
    jobs = sorted({attempt.job_id for attempt in warehouse.attempts})
    details = pl.DataFrame(
        [(job_id, _job_no(job_id), name) for job_id in jobs],
        schema={"job_id": pl.String, "job_no": pl.Int64, "name": pl.String},
        orient="row",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "serving.duckdb")
        # one thread, one transaction, each text parsed once and no search for better plans are less
        # work for a file so small
        with duckdb.connect(str(path), config={"threads": 1}) as connection:
            connection.execute("pragma disable_optimizer")
            connection.begin()
            _tables(connection, warehouse, sequence)
            _run(connection, SQL.read_text(encoding="utf-8"))
            _views(connection)
            connection.execute("insert into detail_files values (?)", [name])
            connection.register("details", details)
            connection.execute("insert into job_details from details")
            connection.commit()
        return path.read_bytes(), detail.getvalue()


def _detail_name(sequence: int) -> str:
    return f"{sequence:08d}-0.parquet"


def fleet(
    teams: Sequence[str] = ("ranking", "feed", "ads", "search"),
    days: int = 63,
    last_day: date = LAST_DAY,
) -> Warehouse:
    """Some teams over some days: interruptions, recoveries, an incomplete newest day, odd jobs."""
    chance = random.Random(7)
    attempts = [
        attempt
        for ago in range(days, -1, -1)
        for team in teams
        for number in range(3)
        for attempt in _job(chance, team, last_day + timedelta(days=1 - ago), number)
    ]
    midnight = datetime(last_day.year, last_day.month, last_day.day)
    noon = midnight - timedelta(days=10, hours=-12)
    odd = [
        Attempt("uninstrumented-1", 1, noon, {"uninstrumented": 7200}, team=teams[0]),
        Attempt("no-gpus-known", 1, noon, {"effective": 600, "scheduling": 60}, gpus=None),
        Attempt("excluded-1", 1, noon, {"effective": 60}, team=teams[0], is_excluded=True),
    ]
    return Warehouse(
        attempts=[*attempts, *odd, *_stubborn(teams[0], midnight)],
        rejected=[
            ("dumps/a.jsonl.gz", line, "not_json", "Expecting value", f"{{broken {line}")
            for line in range(1, 6)
        ]
        + [("dumps/b.jsonl", 9, "bad_timestamp", "ts 'yesterday'", '{"ts": "yesterday"}')],
        anomalies=[
            ("ranking-0", 1, "missing_end", "training at 12:00"),
            ("ranking-0", 2, "missing_end", "training at 13:00"),
            ("feed-1", None, "several_ends", "failed, completed"),
        ],
        targets={"fleet": 0.9, "feed": 0.8},
        last_complete_day=last_day,
        data_at=midnight + timedelta(hours=29),
        published_at=midnight + timedelta(hours=29, minutes=10),
    )


def hostile() -> Warehouse:
    """Names and messages that would run, fetch or break something if they were not text."""
    start = datetime(2026, 3, 3, 8)
    areas = {"scheduling": 30.0, "trainer_init": 120.0, "effective": 3000.0, "unsaved": 200.0}
    return Warehouse(
        attempts=[
            Attempt(
                name,
                1,
                start,
                areas,
                outcome="failed",
                team=name,
                workload=name,
                message=f"{name}\n$x$ :red[x] <script>alert(1)</script>",
            )
            for name in (HOSTILE, FORMULA, "../../etc/passwd", "a\x00b\u202ec", FOREIGN, LONG)
        ],
        rejected=[(HOSTILE, 1, HOSTILE, HOSTILE, HOSTILE)],
        anomalies=[(HOSTILE, 1, HOSTILE, HOSTILE)],
    )


def empty() -> Warehouse:
    """A publish without one event."""
    return Warehouse(attempts=[], last_complete_day=None, data_at=None)


def _job(chance: random.Random, team: str, day: date, number: int) -> Iterable[Attempt]:
    gpus = chance.choice([8, 16, 64])
    start = datetime(day.year, day.month, day.day, 1 + 5 * number, chance.randrange(60))
    job_id = f"{team}-{day:%m%d}-{number}"
    workload = "production" if number else "exploration"
    is_stopped = chance.random() < 0.3
    first = Attempt(
        job_id,
        1,
        start,
        _areas(chance, is_stopped, is_recovering=False),
        outcome=chance.choice(["failed", "preempted", "timeout"]) if is_stopped else "completed",
        team=team,
        workload=workload,
        gpus=gpus,
        message="NCCL watchdog timeout" if is_stopped else None,
        queue=chance.uniform(0, 900),
        tts=chance.uniform(240, 600),
    )
    yield first
    if is_stopped:
        wait = chance.uniform(60, 1800)
        yield Attempt(
            job_id,
            2,
            first.ended_at + timedelta(seconds=wait),
            _areas(chance, False, is_recovering=True),
            team=team,
            workload=workload,
            gpus=gpus,
            is_recovering=True,
            queue=wait,
            ttr=wait + chance.uniform(240, 700),
        )


def _areas(chance: random.Random, is_stopped: bool, *, is_recovering: bool) -> dict[str, float]:
    areas = {
        "scheduling": chance.uniform(10, 60),
        "hardware_setup": chance.uniform(30, 90),
        "launcher_init": chance.uniform(20, 70),
        "trainer_init": chance.uniform(60, 200),
        "pt2_compile": chance.uniform(60, 240),
        "checkpoint_load": chance.uniform(20, 60) if is_recovering else 0.0,
        "effective": chance.uniform(4000, 9000),
        "checkpoint_save": chance.uniform(30, 120),
        "evaluation": chance.uniform(0, 90),
        "data_wait": chance.uniform(0, 60),
        "unsaved": chance.uniform(200, 1500) if is_stopped else 0.0,
        "shutdown": chance.uniform(20, 120),
        "unaccounted": chance.uniform(0, 60),
    }
    return {area: round(seconds, 3) for area, seconds in areas.items() if seconds}


def _stubborn(team: str, midnight: datetime) -> Iterable[Attempt]:
    """A job that needed 34 attempts."""
    start = midnight - timedelta(days=2)
    for number in range(1, 35):
        outcome = ("failed", "preempted", "timeout", "lost", "cancelled")[number % 5]
        areas = {"scheduling": 20.0, "trainer_init": 100.0, "effective": 1500.0, "unsaved": 300.0}
        attempt = Attempt(
            "stubborn",
            number,
            start,
            areas,
            outcome="running" if number == 34 else outcome,
            team=team,
            is_recovering=number > 1,
            queue=600.0 if number > 1 else 0.0,
            tts=120.0 if number == 1 else None,
            ttr=720.0 if number > 1 else None,
        )
        yield attempt
        start = attempt.ended_at + timedelta(seconds=600)


def _intervals(attempt: Attempt) -> Iterable[tuple[str, int, int]]:
    """The areas one after another, saves in two halves within the effective time."""
    at = round(attempt.started_at.replace(tzinfo=UTC).timestamp() * 1e6)
    pieces: list[tuple[str, float]] = []
    for area in (area for area in ORDER if area in attempt.areas):
        if area == "effective" and "checkpoint_save" in attempt.areas:
            half = attempt.areas[area] / 2, attempt.areas["checkpoint_save"] / 2
            pieces += [(area, half[0]), ("checkpoint_save", half[1])] * 2
        elif area != "checkpoint_save":
            pieces.append((area, attempt.areas[area]))
    for area, seconds in pieces:
        yield area, at, (at := at + round(seconds * 1e6))


def _detail_rows(attempt: Attempt) -> Iterable[dict[str, Any]]:
    base: dict[str, Any] = {"job_no": _job_no(attempt.job_id), "attempt": attempt.number}
    base |= {"base_job_no": base["job_no"], "category": None, "stage": None, "rank": None}
    for place, (area, start, end) in enumerate(_intervals(attempt)):
        is_recovery = attempt.is_recovering and area in STARTUP_AREAS
        times = {"started_us": start, "ended_us": end, "step": None, "file_no": None}
        yield {
            **base,
            **times,
            "kind": "area",
            "name": area,
            "detail": "recovery" if is_recovery else None,
        }
        yield {
            **base,
            **times,
            "kind": "span",
            "name": "training" if area in ("effective", "unsaved") else area,
            "rank": 0,
            "detail": None,
            "file_no": 1,
        }
        if area == "checkpoint_save":
            status = ("good", "failed", "cut_off")[place % 3]
            yield {
                **base,
                **times,
                "kind": "save",
                "name": status,
                "step": 100 * place,
                "detail": "sync",
            }
    if attempt.message:
        end_us = round(attempt.ended_at.replace(tzinfo=UTC).timestamp() * 1e6)
        yield {
            **base,
            "kind": "failure",
            "name": None,
            "category": "infra/network",
            "started_us": end_us,
            "ended_us": None,
            "step": None,
            "detail": attempt.message,
            "file_no": 1,
        }


def _job_no(job_id: str) -> int:
    return zlib.crc32(job_id.encode())


def _views(connection: duckdb.DuckDBPyConnection) -> None:
    """What is read through or computed from the tables that are there, as a publish makes it."""
    present = {
        name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()
    }
    for one in model.models("serving"):
        # what an ingest alone can fill, and no page reads, is left out
        if one.name not in present and "from warehouse." not in one.sql:
            parameters = _MACRO.search(one.sql)
            kind = "table" if one.is_stored else "view"
            head = (
                f"macro {one.name} ({parameters[1]}) as table"
                if parameters
                else f"{kind} {one.name} as"
            )
            _run(connection, f"create {head} {one.sql}")


def _run(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    for statement in _parsed(text):
        connection.execute(statement)


@cache
def _parsed(text: str) -> list[duckdb.Statement]:
    return duckdb.extract_statements(text)


_DETAIL = {
    "job_no": pl.Int64,
    "attempt": pl.Int64,
    "kind": pl.String,
    "name": pl.String,
    "category": pl.String,
    "stage": pl.String,
    "rank": pl.Int64,
    "started_us": pl.Int64,
    "ended_us": pl.Int64,
    "step": pl.Int64,
    "detail": pl.String,
    "file_no": pl.Int32,
    "base_job_no": pl.Int64,
}


def _tables(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, sequence: int) -> None:
    given = pl.DataFrame(
        [
            {
                "job_id": each.job_id,
                "attempt": each.number,
                "started_at": each.started_at,
                "ended_at": each.ended_at,
                "outcome": each.outcome,
                "team": each.team,
                "workload": each.workload,
                "gpus": each.gpus,
                "message": each.message,
                "model": each.model,
                "is_recovering": each.is_recovering,
                "queue_seconds": each.queue,
                "tts_seconds": each.tts,
                "ttr_seconds": each.ttr,
                "is_excluded": each.is_excluded,
                "areas": [
                    {"area": name, "seconds": float(size)} for name, size in each.areas.items()
                ],
            }
            for each in warehouse.attempts
        ],
        schema={
            "job_id": pl.String,
            "attempt": pl.Int64,
            "started_at": pl.Datetime("us"),
            "ended_at": pl.Datetime("us"),
            "outcome": pl.String,
            "team": pl.String,
            "workload": pl.String,
            "gpus": pl.Int64,
            "message": pl.String,
            "model": pl.String,
            "is_recovering": pl.Boolean,
            "queue_seconds": pl.Float64,
            "tts_seconds": pl.Float64,
            "ttr_seconds": pl.Float64,
            "is_excluded": pl.Boolean,
            "areas": pl.List(pl.Struct({"area": pl.String, "seconds": pl.Float64})),
        },
    )
    rejected = pl.DataFrame(
        warehouse.rejected,
        schema={
            "file": pl.String,
            "line_number": pl.Int64,
            "reason": pl.String,
            "detail": pl.String,
            "line": pl.String,
        },
        orient="row",
    ).with_columns(file_no=pl.lit(1))
    anomalies = pl.DataFrame(
        warehouse.anomalies,
        schema={
            "job_id": pl.String,
            "attempt": pl.Int64,
            "kind": pl.String,
            "detail": pl.String,
        },
        orient="row",
    )
    found = pl.DataFrame(
        list(warehouse.regressions),
        schema={
            "team": pl.String,
            "metric": pl.String,
            "started_on": pl.Date,
            "state": pl.String,
            "severity": pl.String,
            "verdict": pl.String,
            "observed": pl.Float64,
            "expected": pl.Float64,
            "change_ratio": pl.Float64,
            "lost_gpu_seconds_per_day": pl.Float64,
        },
    )
    prices = pl.DataFrame(
        [warehouse.price or (None, None)],
        schema={"gpu_hour_price": pl.Float64, "currency": pl.String},
        orient="row",
    )
    targets = pl.DataFrame(
        list(warehouse.targets.items()), schema=["team", "ett_ratio"], orient="row"
    )
    stated = pl.DataFrame(
        {
            "published_at": [warehouse.published_at],
            "sequence": [sequence],
            "data_at": pl.Series([warehouse.data_at], dtype=pl.Datetime("us")),
            "last_complete_day": pl.Series([warehouse.last_complete_day], dtype=pl.Date),
        }
    )
    tables = {
        "given": given,
        "rejected_lines": rejected,
        "anomalies": anomalies,
        "found": found,
        "prices": prices,
        "targets": targets,
        "stated": stated,
    }
    for name, table in tables.items():
        connection.register(f"{name}_frame", table)
        connection.execute(f"create table {name} as from {name}_frame")
