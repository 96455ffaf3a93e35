"""The newest day, which is not over: pages show it as such, and their numbers leave it out."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app import alts, parts, waits, words
from tests.app.opening import CHECKPOINTS, FAILURES, LOST, OVERVIEW, START, open_page, said
from tests.queries.engine import ingest, write_dump

LAST = date(2026, 3, 14)  # the last one that is complete


def attempt(
    job: str, begins: datetime, waits_seconds: int, outcome: str
) -> Iterator[dict[str, Any]]:
    def at(seconds: int) -> str:
        return (begins + timedelta(seconds=seconds)).isoformat()

    said_of = {"job_id": job, "attempt": 1}
    yield {**said_of, "ts": at(0), "event": "attempt_start", "team": "ads", "gpus": 8}
    of_setup = {"phase": "hardware_setup", "end_ts": at(waits_seconds // 2)}
    yield {**said_of, "ts": at(0), "event": "phase_start", **of_setup}
    yield {**said_of, "ts": at(waits_seconds), "event": "phase_start", "phase": "training"}
    yield {**said_of, "ts": at(4000), "event": "attempt_end", "outcome": outcome}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two starts of a minute on each day to the 14th; on the 15th, which is not over, nine slow
    ones that fail.
    """
    path = tmp_path_factory.mktemp("incomplete")
    events = [
        event
        for day in range(1, 16)
        for number in range(9 if day == 15 else 2)
        for event in attempt(
            f"{day}-{number}",
            datetime(2026, 3, day, 1, number, tzinfo=UTC),
            *((1800, "failed") if day == 15 else (60, "completed")),
        )
    ]
    assert 0 == ingest(path / "warehouse", write_dump(path / "events.jsonl", events))
    return path / "warehouse"


@pytest.fixture(autouse=True)
def warehouse(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(folder))


def test_starts_by_size_are_those_of_the_window() -> None:
    told = said(open_page(START, days="7"))

    assert ["1 min, 0 s \u00b7 14 starts"] == [text for text in told if text.endswith(" starts")]


@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES])
def test_a_csv_that_holds_a_day_that_is_not_over_says_so(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: dict[str, list[dict[str, str]]] = {}

    def taken(*, stem: str, table: parts.Table, about: str, **_: object) -> None:
        found[stem] = list(csv.DictReader(parts.csv(table, about).decode().splitlines()[1:]))

    monkeypatch.setattr(parts, "footer", taken)
    open_page(path, days="7", attribution="all")
    newest = {
        stem: {row.get("is_complete") for row in rows if row.get("day", "") > str(LAST)}
        for stem, rows in found.items()
    }

    assert found
    assert {} == {stem: told for stem, told in newest.items() if told - {"false"}}
    assert path == CHECKPOINTS or any(newest.values())


@pytest.mark.parametrize(
    ("path", "parameters", "looks"),
    [
        (OVERVIEW, {}, ["Hollow"]),
        (LOST, {}, ["Pale"]),
        (LOST, {"area": "trainer_init"}, []),  # nobody had any of it
        (LOST, {"area": "unaccounted"}, ["Pale"]),
        (START, {}, ["Hollow", "Pale"]),
        (CHECKPOINTS, {}, []),  # draws none
        (FAILURES, {"attribution": "all"}, ["Pale"]),
    ],
)
def test_a_chart_that_draws_a_day_otherwise_says_so(
    path: str, parameters: dict[str, str], looks: list[str]
) -> None:
    page = open_page(path, days="7", **parameters)
    told = [each.value for each in page.caption if "that is not complete" in each.value]
    figures = [json.loads(chart.proto.spec)["data"] for chart in page.get("plotly_chart")]
    pale = [any(map(_is_pale, figure)) for figure in figures]

    assert looks == [
        look
        for look in ("Hollow", "Pale")
        if any(f"{look}: Sun 15 Mar, a day that is not complete." in each for each in told)
    ]
    assert bool(looks) == bool(told)
    assert sum(pale) == sum("Pale: " in each for each in told)


def _is_pale(trace: dict[str, Any]) -> bool:
    """Whether the last of its columns, and no other, lets through what is behind it."""
    opacity = trace.get("marker", {}).get("opacity")
    return isinstance(opacity, list) and opacity[-1] < 1 == min([*opacity[:-1], 1])


def test_words_for_a_chart_leave_out_what_is_not_over() -> None:
    days = pl.DataFrame(
        {"day": [date(2026, 3, 13), LAST, date(2026, 3, 15)], "ett": [0.9, 0.8, 0.0]}
    )
    areas = pl.DataFrame(
        {"day": [LAST, date(2026, 3, 15)], "area": ["queue", "queue"], "p50_seconds": [60.0, 1.0]}
    )

    told = alts.by_day(days, LAST, "ett", words.ratio)
    assert (
        told
        == "lowest 80.0 % on Sat 14 Mar, highest 90.0 % on Fri 13 Mar, last 80.0 % on Sat 14 Mar"
    )
    assert "on Sat 14 Mar: queue 1 min" == waits.newest(areas, LAST)
    assert "on no day that is over" == waits.newest(areas, date(2026, 3, 13))
