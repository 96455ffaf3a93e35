"""Test vector A of METRICS.md section 6 and its variants, through the command and the views."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.queries.engine import areas, ingest, rows, table, write_dump

JOB = "vec-a"
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
SHIFTED = datetime(2026, 3, 1, 22, 20, tzinfo=UTC)  # midnight falls at second 6000

Event = dict[str, Any]
Mutation = Callable[[list[Event]], list[Event]]


def vector_a(start: datetime = MIDNIGHT, outcome: str = "failed") -> list[Event]:
    """The events of the worked example."""
    at = _clock(start)
    first = [
        *phase(at, 1, "scheduling", 0, 30),
        event(at, 1, "attempt_start", 30),
        *phase(at, 1, "hardware_setup", 30, 90),
        *phase(at, 1, "launcher_init", 90, 150),
        *phase(at, 1, "trainer_init", 150, 330),
        *phase(at, 1, "pt2_compile", 270, 420),
        *phase(at, 1, "training", 420, None),
        *phase(at, 1, "checkpoint_save", 2000, 2015, step=100, mode="sync"),
        *phase(at, 1, "checkpoint_save", 4000, 4015, step=200, mode="sync"),
        *phase(at, 1, "shutdown", 5000, 5060),
        event(at, 1, "attempt_end", 5060, outcome=outcome, message="NCCL watchdog timeout"),
    ]
    second = [
        *phase(at, 2, "scheduling", 5100, 5110),
        event(at, 2, "attempt_start", 5110),
        *phase(at, 2, "hardware_setup", 5110, 5150),
        *phase(at, 2, "launcher_init", 5150, 5200),
        *phase(at, 2, "trainer_init", 5200, 5300),
        *phase(at, 2, "checkpoint_load", 5300, 5360, resumed_from_step=200),
        *phase(at, 2, "pt2_compile", 5360, 5400),
        *phase(at, 2, "training", 5400, 8000),
        *phase(at, 2, "checkpoint_save", 7000, 7015, step=300),
        *phase(at, 2, "shutdown", 8000, 8100),
        event(at, 2, "attempt_end", 8100, outcome="completed"),
    ]
    job = {"ts": at(0), "event": "job", "job_id": JOB, "team": "ranking", "gpus": 8}
    return [job, *first, *second]


@pytest.fixture(scope="module")
def vector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the worked example."""
    return loaded(tmp_path_factory.mktemp("vector"), vector_a())


AREAS_1 = {
    "scheduling": 30.0,
    "hardware_setup": 60.0,
    "launcher_init": 60.0,
    "trainer_init": 120.0,
    "pt2_compile": 150.0,
    "effective": 3565.0,
    "unsaved": 985.0,
    "checkpoint_save": 30.0,
    "shutdown": 60.0,
}
AREAS_2 = {
    "scheduling": 10.0,
    "hardware_setup": 40.0,
    "launcher_init": 50.0,
    "trainer_init": 100.0,
    "pt2_compile": 40.0,
    "checkpoint_load": 60.0,
    "effective": 2585.0,
    "checkpoint_save": 15.0,
    "shutdown": 100.0,
}


def test_every_second_of_vector_a_is_charged_as_the_table_says(vector: Path) -> None:
    assert AREAS_1 == areas(vector, JOB, 1)
    assert AREAS_2 == areas(vector, JOB, 2)
    assert [(5060.0,), (3000.0,)] == rows(
        vector, "select wall_seconds from attempts order by attempt"
    )


def test_the_waits_of_vector_a(vector: Path) -> None:
    assert [(390.0, None, None, 0.0), (None, 400.0, 360.0, 40.0)] == rows(
        vector,
        "select tts_seconds, ttr_seconds, ttr_without_queue_seconds, queue_seconds "
        "from attempts order by attempt",
    )


def test_the_ratios_of_vector_a(vector: Path) -> None:
    [job] = table(vector, "select * from jobs")
    [day] = table(vector, "select * from team_day where team = 'ranking' and workload = 'all'")

    assert (8060.0, 6150.0) == (job["wall_seconds"], job["effective_seconds"])
    assert 0.7630 == pytest.approx(job["ett_ratio"], abs=5e-5)
    assert 0.7630 == pytest.approx(day["ett_ratio"], abs=5e-5)
    assert 0.1222 == pytest.approx(day["failure_ratio"], abs=5e-5)
    assert 0.1148 == pytest.approx(day["idleness_ratio"], abs=5e-5)
    assert 15.0 == day["checkpoint_save_p50_seconds"]
    assert 0.0 == day["preemption_ratio"]
    assert (8060.0 - 6150.0) * 8 == job["lost_gpu_seconds"]


def test_the_recovery_of_vector_a_is_its_second_start_up(vector: Path) -> None:
    assert [(1, 0.0), (2, 300.0)] == rows(
        vector, "select attempt, recovery_seconds from attempts order by attempt"
    )
    assert [(True, 300.0)] == rows(
        vector,
        "select is_recovery, sum(seconds) from area_by_attempt where is_recovery group by 1",
    )
    assert [((985.0 + 300.0) * 8,)] == rows(
        vector, "select lost_gpu_seconds from attempts where attempt = 1"
    )


def test_variant_a_order_repetition_and_splitting_change_nothing(
    vector: Path, tmp_path: Path
) -> None:
    events = vector_a()
    random.Random(5).shuffle(events)
    pieces = tmp_path / "pieces"
    for number in range(4):
        chosen = [*events[number::4], *events[number : number + 3]]  # some are told twice
        loaded(pieces, chosen, name=f"{number}.jsonl")
    assert 0 == ingest(pieces / "warehouse", pieces / "0.jsonl", pieces / "1.jsonl")

    # of a line that several dumps have, the one that was ingested first is named
    attempts = "(select * exclude (failure_evidence_file) from attempts)"
    for view in (attempts, "area_by_attempt", "team_day", "jobs", "identity_by_day"):
        assert sorted(rows(vector, f"from {view}"), key=repr) == sorted(
            rows(pieces / "warehouse", f"from {view}"), key=repr
        )


def resumed_from(step: int | None) -> Mutation:
    def mutate(events: list[Event]) -> list[Event]:
        changed = [dict(one) for one in events]
        for one in changed:
            if "resumed_from_step" in one:
                del one["resumed_from_step"]
                if step is not None:
                    one["resumed_from_step"] = step
        return changed

    return mutate


def second_save_async(events: list[Event]) -> list[Event]:
    """The save of step 200 asynchronous, with an upload that starts and never ends."""
    at = _clock(MIDNIGHT)
    changed = [
        {**one, "mode": "async"}
        if one.get("step") == 200 and one["event"] == "phase_start"
        else one
        for one in events
    ]
    return [*changed, event(at, 1, "phase_start", 4015, phase="checkpoint_upload", step=200)]


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of the variants that are told by their attempts alone, a job each."""
    at = _clock(MIDNIGHT)
    lost_end = [
        one for one in vector_a() if not (one.get("step") == 100 and one["event"] == "phase_end")
    ]
    told = {
        "b": resumed_from(100)(vector_a()),
        "c": second_save_async(resumed_from(None)(vector_a())),
        "f": second_save_async(vector_a()),
        "g": [*lost_end, event(at, 1, "progress", 2100, step=110)],
        "h": [said for one in vector_a() for said in by_eight_ranks(one)],
        "i": [
            one if one["event"] == "job" else {**one, "allocation_id": "alloc-7"}
            for one in vector_a()
        ],
    }
    return loaded(
        tmp_path_factory.mktemp("variants"),
        [{**one, "job_id": job} for job, events in told.items() for one in events],
    )


def test_variant_b_an_older_restore_point_makes_more_unsaved(variants: Path) -> None:
    assert {**AREAS_1, "unsaved": 2970.0, "effective": 1580.0} == areas(variants, "b", 1)


def test_variant_c_an_upload_that_never_ended_makes_its_save_worthless(variants: Path) -> None:
    assert {**AREAS_1, "unsaved": 2970.0, "effective": 1580.0} == areas(variants, "c", 1)


def test_variant_d_a_preemption_costs_the_same_seconds(tmp_path: Path) -> None:
    warehouse = loaded(tmp_path, vector_a(outcome="preempted"))

    assert AREAS_1 == areas(warehouse, JOB, 1)
    assert [(0.5, 1.0)] == rows(
        warehouse,
        "select preemption_ratio, preempted_job_ratio from team_day "
        "where team = 'fleet' and workload = 'all'",
    )


def test_variant_e_midnight_splits_the_seconds_and_nothing_else(tmp_path: Path) -> None:
    warehouse = loaded(tmp_path, vector_a(SHIFTED))
    days = table(
        warehouse, "select * from team_day where team = 'ranking' and workload = 'all' order by day"
    )

    assert AREAS_2 == areas(warehouse, JOB, 2)
    assert [date(2026, 3, 1), date(2026, 3, 2)] == [day["day"] for day in days]
    assert [5060.0 + 900.0, 2100.0] == [day["wall_seconds"] for day in days]
    assert [390.0, None] == [day["tts_p50_seconds"] for day in days]
    assert [400.0, None] == [day["ttr_p50_seconds"] for day in days]
    assert [0, 1] == [day["completed"] for day in days]


def test_variant_f_what_was_restored_was_durable(variants: Path) -> None:
    assert AREAS_1 == areas(variants, "f", 1)


def test_variant_g_a_lost_end_lasts_until_the_next_progress(variants: Path) -> None:
    assert {**AREAS_1, "checkpoint_save": 115.0, "effective": 3480.0} == areas(variants, "g", 1)
    assert [("missing_end",)] == rows(
        variants,
        "select kind from anomalies where detail like 'checkpoint_save%' and job_id = 'g'",
    )


def test_variant_h_eight_ranks_make_three_saves(variants: Path) -> None:
    for attempt, expected in ((1, AREAS_1), (2, AREAS_2)):
        found = areas(variants, "h", attempt)
        assert expected.keys() == found.keys()
        assert all(abs(expected[area] - found[area]) < 0.05 for area in expected)
    assert [(2,), (1,)] == rows(
        variants, "select checkpoint_saves from attempts where job_id = 'h' order by attempt"
    )


def test_variant_i_a_restart_inside_one_allocation_holds_its_gpus_throughout(
    variants: Path,
) -> None:
    assert {**AREAS_2, "unaccounted": 40.0} == areas(variants, "i", 2)
    assert [(datetime(2026, 3, 1, 1, 24, 20), 3040.0)] == rows(
        variants,
        "select started_at, wall_seconds from attempts where job_id = 'i' and attempt = 2",
    )


def loaded(folder: Path, events: list[Event], name: str = "dump.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    assert 0 == ingest(folder / "warehouse", write_dump(folder / name, events))
    return folder / "warehouse"


def phase(
    at: Callable[[float], str],
    attempt: int,
    name: str,
    begin: float,
    end: float | None,
    **more: Any,
) -> list[Event]:
    span = [event(at, attempt, "phase_start", begin, phase=name, **more)]
    if end is not None:
        told = {key: value for key, value in more.items() if key == "step"}
        span.append(event(at, attempt, "phase_end", end, phase=name, **told))
    return span


def event(at: Callable[[float], str], attempt: int, kind: str, second: float, **more: Any) -> Event:
    return {"ts": at(second), "event": kind, "job_id": JOB, "attempt": attempt, **more}


def by_eight_ranks(one: Event) -> list[Event]:
    if not one["event"].startswith("phase_"):
        return [one]
    told = datetime.fromisoformat(one["ts"])
    return [
        {**one, "rank": rank, "ts": (told + timedelta(milliseconds=rank)).isoformat()}
        for rank in range(8)
    ]


def _clock(start: datetime) -> Callable[[float], str]:
    return lambda second: (start + timedelta(seconds=second)).isoformat()
