"""Runs of one name in folders of two projects, one after the other: an anomaly says so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.ingest.warehouses import differences
from tests.queries.engine import ingest, rows
from tests.queries.test_runs_at_once import sightings, write

ANOMALIES = (
    "select job_id, attempt, detail from anomalies where kind = 'begun_elsewhere' order by all"
)
PLACES = ("a", "b", "host1/a", "host2/rank0/a", "b/attempt_2", "2026-03-01")
NUMBERED = ("", "1153", "1154")


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
    assert "counts as unsaved unless it completed" in caplog.text
    assert "[[identity]]" in caplog.text
    for log in reversed(logs):
        ingest(tmp_path / "back", log)
    assert {} == differences(tmp_path / "warehouse", tmp_path / "back")


NAMES = {
    "lr3": "lr3",
    "lr(3e-4)+[.*?{2}$": "lr(3e-4)+[.*?{2}$",
    "a\nb'c\"%s": "a\nb'c\"%s",
    "of\\windows": "windows",
}


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of logs of two projects that are called by these names."""
    folder = tmp_path_factory.mktemp("named")
    for name in NAMES:
        write(folder / f"fleet/a/{name}.log", 0, sightings(0, 0))
        write(folder / f"fleet/b/{name}.log", 900, sightings(900, 0))

    ingest(folder / "warehouse", folder / "fleet")
    return folder / "warehouse"


@pytest.mark.parametrize("job", NAMES.values())
def test_logs_called_by_their_own_names_are_told_of_too(job: str, named: Path) -> None:
    told = [row[:2] for row in rows(named, ANOMALIES)]

    assert len(NAMES) == len(told)
    assert [(job, 2)] == [row for row in told if row[0] == job]


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


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of projects that number their runs, and the warehouse of them."""
    folder = tmp_path_factory.mktemp("numbered")
    stories = (("anew", 0, [15]), ("on", 15, [15]), ("unsaved", 0, []), ("early", 0, [1]))
    for project, first, saves in stories:
        write(folder / f"fleet/{project}/1153/train.log", 0, sightings(0, 0), saves=saves)
        write(folder / f"fleet/{project}/1154/train.log", 900, sightings(900, first))

    ingest(folder / "warehouse", folder / "fleet")
    return folder


def test_numbered_folders_are_runs_where_the_later_goes_on_from_no_save(numbered: Path) -> None:
    said = (
        f"logs of tries before it lie in {numbered}/fleet/anew/1153/; "
        f"its own, in {numbered}/fleet/anew/1154/, begin anew with step 1"
    )
    at = "at 2026-03-01T10:15:10.000Z"
    assert [("anew", 2, f"{said} {at}")] == rows(numbered / "warehouse", ANOMALIES)


def test_a_save_of_no_later_step_is_none_to_go_on_from(numbered: Path) -> None:
    told = rows(numbered / "warehouse", ANOMALIES)

    assert [] == [job for job, _, _ in told if job == "early"]


def test_tries_are_told_of_where_none_before_lay_there_and_one_began_no_earlier(
    tmp_path: Path,
) -> None:
    rng = random.Random(20_261_125)
    fleet: dict[str, list[Try]] = {}
    for number in range(120):
        tries = [
            Try(
                rng.choice(PLACES),
                rng.choice(NUMBERED),
                rng.choice((0, 0, 5, 10)),
                rng.choice((None, None, 3, 8, 12)),
            )
            for _ in range(rng.randint(2, 4))
        ]
        fleet[f"case-of-{number}"] = tries
        for attempt, one in enumerate(tries):
            folder = tmp_path / "fleet" / one.place / f"case-of-{number}" / one.numbered
            start = 900 * attempt
            write(
                folder / f"attempt{attempt}/train.log",
                start,
                sightings(start, one.first),
                saves=() if one.saved is None else (one.saved,),
            )

    ingest(tmp_path / "warehouse", tmp_path / "fleet")

    expected = {
        (name, attempt + 1)
        for name, tries in fleet.items()
        for attempt in range(1, len(tries))
        if begins_elsewhere(tries[:attempt], tries[attempt])
    }
    assert 40 < len(expected) < 250
    assert expected == {
        (job, attempt) for job, attempt, _ in rows(tmp_path / "warehouse", ANOMALIES)
    }


class Try(NamedTuple):
    """Folders above and below the name, the step that it began after, and the one it saved."""

    place: str
    numbered: str
    first: int
    saved: int | None


def begins_elsewhere(before: Sequence[Try], one: Try) -> bool:
    """The definition told again."""
    if not any(one.first <= earlier.first for earlier in before):
        return False
    if project(one) not in {project(each) for each in before}:
        return True
    # a step is saved where it was reached
    saved = {each.saved for each in before if each.saved is not None and each.saved > each.first}
    lay = {(project(each), each.numbered) for each in before}
    return (project(one), one.numbered) not in lay and any(step > one.first + 1 for step in saved)


def project(one: Try) -> str:
    same = {"host1/a": "a", "host2/rank0/a": "a", "b/attempt_2": "b"}
    return same.get(one.place, one.place)
