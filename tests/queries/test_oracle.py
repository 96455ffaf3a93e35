"""The engine against the oracle on thousands of random fleets: every attempt and day, exactly."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest import facts
from tests.oracle.fleets import PHASES, fleets, random_fleet
from tests.oracle.measures import measure
from tests.queries.agreement import disagreements
from tests.queries.engine import ingest, rows, write_dump

START = 1_772_323_200  # 2026-03-01T00:00:00Z
WAREHOUSES = 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "chaos", "timezone", "most_copied"),
    [
        (range(700), 0.05, "UTC", 1_000_000),
        # read where they stand, as many events are
        (range(1000, 1700), 0.4, "Europe/Berlin", 0),
        (range(2000, 2700), 1.0, "Asia/Kolkata", 1_000_000),
    ],
    ids=["realistic", "damaged", "chaotic"],
)
def test_engine_and_oracle_agree_on_random_fleets(
    seeds: range,
    chaos: float,
    timezone: str,
    most_copied: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(facts, "_FEW_EVENTS", most_copied)
    config = tmp_path / "ett.toml"
    config.write_text(f'timezone = "{timezone}"\n', encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    events = [
        event for seed in seeds for event in random_fleet(seed, prefix=f"f{seed}-", chaos=chaos)
    ]
    random.Random(0).shuffle(events)

    assert 0 == ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", events))
    measures = measure(events, timezone=timezone)

    assert len(measures.attempts) > 1_000
    assert [] == disagreements(tmp_path / "warehouse", measures)[:5]


@pytest.mark.slow
def test_engine_and_oracle_agree_on_what_hypothesis_draws(tmp_path: Path) -> None:
    """In warehouses with clocks of their own; what disagrees names the draw that it is of."""
    draws: list[list[list[dict[str, object]]]] = []

    @settings(max_examples=12, suppress_health_check=[HealthCheck.data_too_large])
    @given(st.lists(fleets(), min_size=2, max_size=3))  # more at once are too much to draw
    def draw(drawn: list[list[dict[str, object]]]) -> None:
        draws.append(drawn)

    draw()
    told = 0
    for number in range(WAREHOUSES):
        events = [
            event if "job_id" not in event else {**event, "job_id": f"{place}-{event['job_id']}"}
            for drawing in range(number, len(draws), WAREHOUSES)
            for place, fleet in enumerate(draws[drawing], start=10 * drawing)
            for event in fleet
        ]
        warehouse, measures = tmp_path / f"warehouse-{number}", measure(events)
        if not measures.attempts:
            continue
        told += 1
        assert 0 == ingest(warehouse, write_dump(tmp_path / f"{number}.jsonl", events))
        assert [] == disagreements(warehouse, measures)[:5]

    assert told


@dataclass(frozen=True, slots=True)
class Told:
    """Events, and the warehouse of them alone."""

    events: list[dict[str, Any]]
    warehouse: Path


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Jobs of more reporters than any fleet has, beside a fleet."""
    folder = tmp_path_factory.mktemp("told")
    events = [*random_fleet(11, chaos=0.0)]
    for seed in range(3):
        events += _of_many_reporters(seed)
    ingest(folder / "warehouse", write_dump(folder / "dump.jsonl", events))
    return Told(events, folder / "warehouse")


def _of_many_reporters(seed: int) -> list[dict[str, Any]]:
    """Thousands that wait for data at once, beside some that do something else."""
    rng = random.Random(seed)
    spans = [("data_wait", rng.randrange(500), rng.randrange(500, 3_700)) for _ in range(2_500)]
    for phase in rng.choices(PHASES, k=40):
        begin = rng.randrange(3_600)
        spans.append((phase, begin, begin + rng.randrange(1, 60)))
    job = {"job_id": f"many {seed}"}
    events: list[dict[str, Any]] = [
        {
            **job,
            "event": "phase_start",
            "phase": phase,
            "rank": rank,
            "ts": START + begin,
            "end_ts": START + end,
        }
        for rank, (phase, begin, end) in enumerate(spans)
    ]
    return [
        *events,
        {**job, "event": "attempt_end", "ts": START + 3_600, "outcome": "failed"},
    ]


def test_more_reporters_than_any_fleet_has_are_counted_right(told: Told) -> None:
    measures = measure(told.events)

    assert {f"many {seed}" for seed in range(3)} < {job_id for job_id, _ in measures.attempts}
    assert [] == disagreements(told.warehouse, measures)


def test_the_comparison_finds_a_microsecond(told: Told) -> None:
    """The check can fail: an oracle that is told one event a microsecond later is found out."""
    fleet = [event for event in told.events if not event["job_id"].startswith("many")]
    ends = [event for event in fleet if event["event"] == "attempt_end"]
    shifted = {**ends[-1], "ts": _later(ends[-1]["ts"])}
    moved = [shifted if event is ends[-1] else event for event in told.events]

    assert [] != disagreements(told.warehouse, measure(moved))


def _later(ts: object) -> str:
    moment = (
        datetime.fromisoformat(ts)
        if isinstance(ts, str)
        else datetime.fromtimestamp(float(str(ts)), UTC)
    )
    return (moment + timedelta(microseconds=1)).isoformat()


def test_an_attempt_whose_last_word_is_at_midnight_has_no_part_in_the_day_that_begins(
    tmp_path: Path,
) -> None:
    """It still runs, so nothing ended at that instant, and it spent no time after it."""
    events: list[dict[str, Any]] = [
        {"job_id": "a", "ts": "2026-03-02T23:59:00Z", "event": "attempt_start"},
        {"job_id": "a", "ts": "2026-03-03T00:00:00Z", "event": "alive"},
    ]
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, write_dump(tmp_path / "dump.jsonl", events))

    assert [] == disagreements(warehouse, measure(events))
    assert [(date(2026, 3, 2),)] == rows(warehouse, "select distinct day from team_day")
