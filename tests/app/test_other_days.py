"""What pages say where all that was chosen lies outside the window, and where they lead."""

from __future__ import annotations

from contextvars import copy_context
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from app import report
from tests.app import dumps, serving
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOBS,
    LOST,
    OVERVIEW,
    START,
    markdown,
    open_page,
    said,
)

AREAS = {"scheduling": 30.0, "effective": 3000.0}
LAST = date(2026, 3, 3)


def publish(folder: Path, *days_before: int, team: str = "ranking") -> None:
    """A job a day so many days before the newest complete one; negative: after it."""
    noon = datetime(LAST.year, LAST.month, LAST.day, 12)
    attempts = [
        serving.Attempt(f"job-{ago}", 1, noon - timedelta(days=ago), AREAS, team=team, tts=60.0)
        for ago in days_before
    ]
    serving.publish(folder, serving.Warehouse(attempts=attempts, last_complete_day=LAST))


@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES])
def test_the_nearest_day_is_named_and_its_jobs_are_linked(warehouse: Path, path: str) -> None:
    publish(warehouse, -1, 365)
    page = open_page(path)

    assert any(
        "Wed 4 Mar 2026, which is not complete yet: these pages tell of complete days only" in text
        for text in said(page)
    )
    assert ["` job--1 `", "All jobs"] == [
        link.proto.label for link in page.get("page_link") if "Data to" not in link.proto.label
    ]


@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES, JOBS])
def test_attempts_of_which_none_has_a_gpu_are_not_called_missing(
    warehouse: Path, path: str
) -> None:
    noon = datetime(2026, 3, 3, 12)
    told = [*dumps.attempt("a", 1, noon, trains=600, gpus=0)]
    told += dumps.attempt("b", 1, noon, trains=600, gpus=0)
    dumps.ingest(warehouse, told, noon + timedelta(days=2))
    page = open_page(path)

    assert any(text.startswith("Nothing is counted of the 2 attempts") for text in said(page))
    assert not any("holds no attempts" in text for text in said(page))


def test_data_tells_which_jobs_have_no_gpus(warehouse: Path) -> None:
    noon = datetime(2026, 3, 3, 12)
    told = dumps.attempt("a", 1, noon, trains=600, gpus=0)
    told += dumps.attempt("b", 1, noon, trains=600, gpus=None)
    told += dumps.attempt("c", 1, noon, trains=600)
    dumps.ingest(warehouse, told, noon + timedelta(days=2))
    counted = {metric.label: metric.value for metric in open_page(DATA).metric}

    assert ("1", "1") == (counted["No GPUs"], counted["GPUs unknown"])


def test_data_tells_of_an_excluded_job_only_that_it_is(warehouse: Path) -> None:
    noon = datetime(2026, 3, 3, 12)
    told = [
        serving.Attempt("a", 1, noon, {"effective": 60}, gpus=None, is_excluded=True),
        serving.Attempt("b", 1, noon, {"uninstrumented": 60}, gpus=0, is_excluded=True),
        serving.Attempt("c", 1, noon, {"effective": 60}),
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=told, last_complete_day=noon.date()))
    counted = {metric.label: metric.value for metric in open_page(DATA).metric}

    assert ["0", "0", "2", "0"] == [
        counted[label] for label in ("GPUs unknown", "No GPUs", "Excluded", "Uninstrumented")
    ]


@pytest.mark.parametrize("path", [OVERVIEW, JOBS])
def test_a_team_of_which_nothing_is_counted_is_not_said_to_be_missing(
    warehouse: Path, path: str
) -> None:
    noon = datetime(2026, 3, 3, 12)
    told = dumps.attempt("a", 1, noon, trains=600, gpus=0, team="cpus")
    told += dumps.attempt("b", 1, noon, trains=600)
    dumps.ingest(warehouse, told, noon + timedelta(days=2))
    sentences = said(open_page(path, team="cpus"))

    assert any(
        text.startswith("Nothing is counted of the jobs of team ` cpus `") for text in sentences
    )
    assert not any("There is no team" in text for text in sentences)


def test_the_digest_calls_attempts_without_gpus_not_missing_either(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noon = datetime(2026, 3, 3, 12)
    told = dumps.attempt("a", 1, noon, trains=600, gpus=0)
    dumps.ingest(warehouse, told, noon + timedelta(days=2))
    capsys.readouterr()

    assert 2 == copy_context().run(report.main, [])
    assert capsys.readouterr().err.startswith("ett-report: nothing is counted of the 1 attempt ")


def test_a_day_that_no_window_reaches_is_named_with_its_year(warehouse: Path) -> None:
    publish(warehouse, 365)
    page = open_page()

    assert any("Mon 3 Mar 2025, more than 90 days before" in text for text in said(page))


def test_a_longer_window_is_one_click_away(warehouse: Path) -> None:
    publish(warehouse, 40, 365, -1)
    page = open_page()

    assert any(
        "nearest complete day with data for this choice is Thu 22 Jan 2026." in text
        for text in said(page)
    )

    [button] = [each for each in page.button if each.label == "Show 90 days"]
    button.click().run()

    assert page.metric
    assert any("1 job, 1 attempt" in text for text in markdown(page))


def test_a_choice_without_any_day_leads_to_a_wider_one(warehouse: Path) -> None:
    noon = datetime(LAST.year, LAST.month, LAST.day, 12)
    attempts = [
        serving.Attempt("a", 1, noon, AREAS, team="ranking", workload="production"),
        serving.Attempt("b", 1, noon, AREAS, team="feed", workload="exploration"),
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(team="ranking", workload="exploration")

    assert any("on any day" in text for text in said(page))
    assert {"Show all workloads", "Show the whole fleet"} == {each.label for each in page.button}


def test_the_walk_finds_its_example_on_any_day(warehouse: Path) -> None:
    publish(warehouse, 365, -1)
    page = open_page(DATA)

    assert any(text.startswith("Attempt 1 of ` job--1 `") for text in markdown(page))
    assert not any("There is no attempt yet" in text for text in said(page))
