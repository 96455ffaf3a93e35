"""Waits for a first batch, told in several ways: each agrees with the attempts it rests on."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.app.macros import macros
from tests.app.macros import rows as told
from tests.oracle.fleets import random_fleet
from tests.oracle.measures import percentile
from tests.queries.engine import ingest, rows, table, write_dump

FIRST, LAST = date(2026, 3, 1), date(2026, 3, 4)
SCOPES = tuple(product(("fleet", "ranking"), ("all", "exploration")))
AREAS = ("hardware_setup", "launcher_init", "trainer_init", "pt2_compile", "checkpoint_load")
BUCKETS = {"1-8": (0, 8), "9-64": (9, 64), "65-512": (65, 512), "513+": (513, 10**9)}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hundreds of random jobs of three days."""
    folder = tmp_path_factory.mktemp("waits")
    told = [event for seed in range(150) for event in random_fleet(seed, prefix=f"f{seed}-")]

    assert 0 == ingest(folder / "warehouse", write_dump(folder / "events.jsonl", told))
    return folder / "warehouse"


@pytest.fixture(scope="module")
def attempts(fleet: Path) -> list[dict[str, Any]]:
    return table(fleet, "from attempts where is_counted")


def of(attempts: list[dict[str, Any]], team: str, workload: str) -> list[dict[str, Any]]:
    return [
        row
        for row in attempts
        if team in ("fleet", row["team"]) and workload in ("all", row["workload"])
    ]


@pytest.mark.parametrize(("team", "workload"), SCOPES)
def test_a_curve_counts_every_wait_that_was_over_by_then(
    fleet: Path, attempts: list[dict[str, Any]], team: str, workload: str
) -> None:
    found = table(
        fleet,
        "from window_wait_shares(?, ?, ?, ?) order by wait, step",
        [team, workload, FIRST, LAST],
    )
    for wait, column in (("start", "tts_us"), ("recovery", "ttr_us")):
        waits = [row[column] for row in of(attempts, team, workload) if row[column] is not None]
        steps = [row for row in found if row["wait"] == wait]

        assert [
            sum(us <= row["up_to_seconds"] * 1e6 * (1 + 1e-12) for us in waits) for row in steps
        ] == [row["attempts"] for row in steps]
        assert 1 == steps[-1]["share_ratio"]


WAITED: dict[str, Any] = {
    "team": "feed",
    "workload": "production",
    "is_counted": True,
    "started_day": FIRST,
    "first_batch_day": FIRST,
}


def test_what_took_no_time_is_counted_among_the_waits_that_were_over() -> None:
    waits = pl.DataFrame([{**WAITED, "tts_us": us, "ttr_us": 0} for us in (0, 0, 2**26)])
    with macros({"attempts": waits}, "window_wait_shares") as connection:
        found = told(
            connection,
            "select wait, attempts, share_ratio from window_wait_shares('feed', 'all', ?, ?) "
            "order by wait, step",
            FIRST,
            LAST,
        )

    assert [("recovery", 3, 1.0), ("start", 2, 2 / 3), ("start", 3, 1.0)] == [
        tuple(row.values()) for row in found
    ]


@pytest.mark.parametrize(("team", "workload"), SCOPES)
def test_a_size_has_the_median_of_its_attempts(
    fleet: Path, attempts: list[dict[str, Any]], team: str, workload: str
) -> None:
    found = table(fleet, "from window_waits_by_size(?, ?, ?, ?)", [team, workload, FIRST, LAST])
    for row in found:
        low, high = BUCKETS[row["gpus_bucket"]]
        waits = [
            each["tts_us"]
            for each in of(attempts, team, workload)
            if each["tts_us"] is not None
            and each["gpus"] is not None
            and low <= each["gpus"] <= high
            and row["day"] in (None, each["first_batch_day"])
        ]

        assert len(waits) == row["tts_count"]
        assert row["tts_p50_seconds"] == (percentile(waits, 50) / 1e6 if waits else None)


def test_a_compile_after_the_first_batch_is_no_part_of_the_start(tmp_path: Path) -> None:
    begins = 1_772_323_200  # 2026-03-01T00:00:00Z
    phases = (("trainer_init", 0, 60), ("pt2_compile", 60, 90), ("training", 90, 900))
    again = (("pt2_compile", 900, 1500), ("training", 1500, 3000))
    of_all: dict[str, Any] = {"job_id": "a", "attempt": 1}
    told = [
        {**of_all, "event": "attempt_start", "ts": begins, "gpus": 8},
        *(
            {**of_all, "event": "phase_start", "phase": phase}
            | {"ts": begins + first, "end_ts": begins + last}
            for phase, first, last in (*phases, *again)
        ),
        {**of_all, "event": "attempt_end", "outcome": "completed", "ts": begins + 3000},
    ]
    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "a.jsonl", told))
    found = table(
        tmp_path / "warehouse", "from window_start_areas('fleet', 'all', ?, ?)", [FIRST, FIRST]
    )

    assert {"trainer_init": 60, "pt2_compile": 30} == {
        row["area"]: row["p50_seconds"] for row in found if row["p50_seconds"]
    }


def test_areas_of_a_start_are_medians_of_first_attempts(
    fleet: Path, attempts: list[dict[str, Any]]
) -> None:
    found = table(fleet, "from window_start_areas('fleet', 'all', ?, ?)", [FIRST, LAST])
    started: dict[date, list[dict[str, Any]]] = defaultdict(list)
    for row in attempts:
        if row["tts_us"] is not None and row["ttr_us"] is None:
            started[row["first_batch_day"]].append(row)
    expected = {
        (day, area): (len(mine), percentile([row[f"{area}_startup_us"] for row in mine], 50) / 1e6)
        for day, mine in started.items()
        for area in AREAS
    }

    assert expected == {
        (row["day"], row["area"]): (row["attempts"], row["p50_seconds"])
        for row in found
        if row["wait"] == "start"
    }


def test_areas_of_a_recovery_are_what_recoveries_were_charged(fleet: Path) -> None:
    found = table(fleet, "from window_start_areas('fleet', 'all', ?, ?)", [FIRST, LAST])
    recovered = [row for row in found if row["wait"] == "recovery"]

    assert {"scheduling", *AREAS} == {row["area"] for row in recovered}
    assert all(row["p50_seconds"] >= 0 for row in recovered)


@pytest.mark.parametrize(("team", "workload"), SCOPES)
def test_attempts_that_never_trained_are_counted_on_the_day_of_their_end(
    fleet: Path, attempts: list[dict[str, Any]], team: str, workload: str
) -> None:
    found = table(fleet, "from window_starts(?, ?, ?, ?)", [team, workload, FIRST, LAST])
    ended = [
        row
        for row in of(attempts, team, workload)
        if row["is_instrumented"] and not row["is_open"] and FIRST <= row["ended_day"] <= LAST
    ]
    never = Counter(row["ended_day"] for row in ended if row["first_batch_at"] is None)

    assert {row["day"]: row["never_trained"] for row in found if row["day"]} == {
        day: never[day] for day in {row["ended_day"] for row in ended}
    }
    assert [sum(never.values())] == [row["never_trained"] for row in found if row["day"] is None]


def test_stages_are_averages_over_the_attempts_that_report_them(
    fleet: Path, attempts: list[dict[str, Any]]
) -> None:
    counted = {(row["job_id"], row["attempt"]) for row in attempts if row["is_instrumented"]}
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in table(fleet, "from stage_by_attempt"):
        if (row["job_id"], row["attempt"]) in counted:
            seconds[row["phase"], row["stage"]].append(row["seconds"])
    found = table(fleet, "from window_stages('fleet', 'all', ?, ?)", [FIRST, LAST])

    assert {
        key: (len(each), pytest.approx(sum(each) / len(each))) for key, each in seconds.items()
    } == {(row["phase"], row["stage"]): (row["attempts"], row["mean_seconds"]) for row in found}


def test_compiles_agree_with_the_cache_hits_of_the_days(fleet: Path) -> None:
    found = table(fleet, "from window_compiles('fleet', 'all', ?, ?)", [FIRST, LAST])
    days = dict(
        rows(
            fleet,
            "select day, compile_cache_hit_ratio from team_day "
            "where team = 'fleet' and workload = 'all' and compile_cache_hit_ratio is not null",
        )
    )

    assert days == {row["day"]: row["hit_ratio"] for row in found if row["day"] is not None}


def test_recompiles_are_of_all_that_compiled_and_hits_of_those_that_tell() -> None:
    def compiled(cache: str | None, recompiles: int | None, seconds: float = 10) -> dict[str, Any]:
        told = {"cache": cache, "recompiles": recompiles, "pt2_compile_seconds": seconds}
        return {**WAITED, **told}

    silent = {"started_day": LAST, "cache": None, "recompiles": None}
    frame = pl.DataFrame(
        [
            compiled("hit", 0),
            compiled(None, 5),
            compiled(None, 3, seconds=0),
            compiled(None, None),
            compiled(None, None, seconds=0),
            compiled("hit", 1) | silent,
        ]
    )
    with macros({"attempts": frame}, "window_compiles") as connection:
        found = told(
            connection,
            "select attempts, hits, hit_ratio, recompiles_per_attempt "
            "from window_compiles('fleet', 'all', ?, ?) where day is not null order by day",
            FIRST,
            LAST,
        )

    assert [(4, 1, 1.0, 2.0), (1, 0, None, None)] == [tuple(row.values()) for row in found]


def test_a_share_that_publishes_is_never_more_than_all() -> None:
    def ended(job_id: str, gpus: int | None, shutdown: float, **other: Any) -> dict[str, Any]:
        whose = {"job_id": job_id, "attempt": 1, "gpus": gpus, "shutdown_seconds": shutdown}
        return {**WAITED, "ended_day": FIRST, "is_instrumented": True, **whose, **other}

    attempts = pl.DataFrame(
        [
            ended("saved meanwhile", 8, 60),
            ended("silent", 8, 60),
            ended("weightless", None, 60, team="ads"),
            ended("instant", 8, 0, team="search"),
            ended("another day", 8, 600, ended_day=date(2026, 2, 1)),
            ended("no stages", 8, 60, team="ranking"),
        ]
    )
    stages = pl.DataFrame(
        [
            {"job_id": job_id, "attempt": 1, "phase": phase, "stage": stage, "seconds": 600.0}
            for job_id in ("saved meanwhile", "weightless", "instant", "another day")
            for phase, stage in (("shutdown", "model_publish"), ("trainer_init", "pre_train"))
        ]
    )
    with macros({"attempts": attempts, "stage_by_attempt": stages}, "window_publishing") as open_:
        found = told(open_, "from window_publishing('all', ?, ?) order by team", FIRST, LAST)

    assert [
        ("ads", None, None, None),
        ("feed", 960.0, 480.0, 0.5),
        ("fleet", 1440.0, 480.0, 1 / 3),
        ("search", 0.0, 0.0, None),
    ] == [tuple(row.values()) for row in found]


def test_a_share_that_publishes_is_of_the_shutdown_of_the_team(tmp_path: Path) -> None:
    base = {"job_id": "j", "attempt": 1, "team": "feed", "gpus": 8}

    def span(phase: str, start: int, end: int, stage: str | None = None) -> dict[str, Any]:
        at = {"ts": f"2026-03-02T10:{start:02d}:00Z", "end_ts": f"2026-03-02T10:{end:02d}:00Z"}
        return {**base, **at, "event": "phase_start", "phase": phase, "stage": stage}

    told = [
        {**base, "event": "attempt_start", "ts": "2026-03-02T10:00:00Z"},
        span("training", 0, 20),
        span("checkpoint_save", 18, 19),
        span("shutdown", 20, 30),
        span("shutdown", 20, 26, "model_publish"),
        {**base, "event": "attempt_end", "ts": "2026-03-02T10:30:00Z", "outcome": "completed"},
    ]

    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "events.jsonl", told))
    found = rows(
        tmp_path / "warehouse",
        "select team, publishing_ratio from window_publishing('all', ?, ?) order by team",
        [FIRST, LAST],
    )

    assert [("feed", 0.6), ("fleet", 0.6)] == found
