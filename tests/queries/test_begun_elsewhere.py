"""Runs of one name in folders of two projects, one after the other: an anomaly says so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.ingest.warehouses import differences
from tests.queries.engine import ingest, rows
from tests.queries.test_runs_at_once import sightings, write

ANOMALIES = (
    "select job_id, attempt, detail from anomalies where kind = 'begun_elsewhere' order by all"
)
PLACES = ("a", "b", "host1/a", "host2/rank0/a", "b/attempt_2", "2026-03-01")


def test_a_run_that_begins_anew_in_another_folder_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = [
        write(tmp_path / "fleet/a/seed1/train.log", 0, sightings(0, 0)),
        write(tmp_path / "fleet/b/seed1/train.log", 900, sightings(900, 0)),
    ]

    assert 0 == ingest(tmp_path / "warehouse", tmp_path / "fleet")

    said = (
        f"logs of tries before it lie in {tmp_path}/fleet/a/; "
        f"its own, in {tmp_path}/fleet/b/, begin anew with step 1"
    )
    at = "at 2026-03-01T10:15:10.000Z"
    assert [("seed1", 2, f"{said} {at}")] == rows(tmp_path / "warehouse", ANOMALIES)
    assert f"job seed1: {said}. If these are runs of their own" in caplog.text
    assert "[[identity]]" in caplog.text
    for log in reversed(logs):
        ingest(tmp_path / "back", log)
    assert {} == differences(tmp_path / "warehouse", tmp_path / "back")


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("lr3", "lr3"),
        ("lr(3e-4)+[.*?{2}$", "lr(3e-4)+[.*?{2}$"),
        ("a\nb'c\"%s", "a\nb'c\"%s"),
        ("of\\windows", "windows"),
    ],
)
def test_logs_called_by_their_own_names_are_told_of_too(
    name: str, job: str, tmp_path: Path
) -> None:
    write(tmp_path / f"fleet/a/{name}.log", 0, sightings(0, 0))
    write(tmp_path / f"fleet/b/{name}.log", 900, sightings(900, 0))

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    assert [(job, 2)] == [row[:2] for row in rows(tmp_path / "warehouse", ANOMALIES)]


def test_a_rule_makes_them_two_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "ett.toml"
    settings.write_text("[[identity]]\npath = '/fleet/(?P<job_id>.*)/'\n", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(settings))
    write(tmp_path / "fleet/a/seed1/train.log", 0, sightings(0, 0))
    write(tmp_path / "fleet/b/seed1/train.log", 900, sightings(900, 0))

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    assert [] == rows(tmp_path / "warehouse", ANOMALIES)
    assert [("a/seed1",), ("b/seed1",)] == rows(
        tmp_path / "warehouse", "select job_id from jobs order by all"
    )


def test_tries_are_told_of_where_none_before_lay_there_and_one_began_no_earlier(
    tmp_path: Path,
) -> None:
    rng = random.Random(20_261_125)
    fleet: dict[str, list[tuple[str, int]]] = {}
    for number in range(120):
        tries = [(rng.choice(PLACES), rng.choice((0, 0, 5, 10))) for _ in range(rng.randint(2, 4))]
        fleet[f"case-of-{number}"] = tries
        for attempt, (place, first) in enumerate(tries):
            folder = tmp_path / "fleet" / place / f"case-of-{number}" / f"attempt{attempt}"
            start = 900 * attempt
            write(folder / "train.log", start, sightings(start, first))

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    expected = {
        (name, attempt + 1)
        for name, tries in fleet.items()
        for attempt in range(1, len(tries))
        if begins_elsewhere(tries[:attempt], tries[attempt])
    }
    assert 40 < len(expected) < 200
    assert expected == {
        (job, attempt) for job, attempt, _ in rows(tmp_path / "warehouse", ANOMALIES)
    }


def begins_elsewhere(before: Sequence[tuple[str, int]], one: tuple[str, int]) -> bool:
    """The definition told again, of a place and the step it began after."""
    projects = {"a": "a", "host1/a": "a", "host2/rank0/a": "a", "b": "b", "b/attempt_2": "b"}
    place, first = projects.get(one[0], one[0]), one[1]
    return place not in {projects.get(each, each) for each, _ in before} and any(
        first <= earlier for _, earlier in before
    )
