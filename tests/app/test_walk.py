"""The walk of one attempt: its steps agree with the views, and it says where they would not."""

from __future__ import annotations

import shutil
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl
import pytest

import queries
from app import walk
from ingest import keep
from tests.app import serving
from tests.app.dumps import attempt, ingest
from tests.app.opening import DATA, markdown, open_page, said, warnings

START = datetime(2026, 3, 1, 22)
HOUR = 3_600_000_000


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job that is stopped after midnight, and a quiet one."""
    events = [
        *attempt("late", 1, START, trains=3 * 3600, saves_every=3600, outcome="failed"),
        *attempt("late", 2, START + timedelta(hours=4), trains=600),
        *attempt("quiet", 1, START, trains=600),
    ]
    return ingest(tmp_path_factory.mktemp("walked"), events, START + timedelta(days=2))


@pytest.fixture
def walked(ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of the two jobs; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested))
    return ingested


def test_every_step_of_an_attempt_agrees_with_the_views(walked: Path) -> None:
    page = open_page(DATA, job="late", attempt="1")
    checks = [text for text in markdown(page) if "[:material/" in text and "add" in text]

    assert 3 == len(checks)
    assert all(":green[:material/check_circle: good]" in text for text in checks)
    assert any("Each area is the sum of its intervals" in text for text in markdown(page))


def test_a_span_that_outlasts_its_attempt_is_said_to_be_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    told = attempt("cut", 1, START, trains=600)
    told[-1]["ts"] = told[-1]["ts"].replace("22:11:40", "22:06:40")  # 300 s of its training
    ingest(tmp_path, told, START + timedelta(days=2))
    page = open_page(DATA, job="cut", attempt="1")
    [spans] = [each.value for each in page.dataframe if "rank" in each.value]

    assert {"trainer_init": 100.0, "training": 300.0} == dict(
        zip(spans["name"], spans["seconds"], strict=True)
    )
    assert any("reported up to the end of the attempt" in text for text in markdown(page))


def test_an_attempt_with_more_spans_than_are_listed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    # a span of starting and one of training, and a save each hour but the last
    for job, hours in (("most", 499), ("more", 500)):
        events = attempt(job, 1, START, trains=hours * 3600.0, saves_every=3600.0)
        ingest(tmp_path, events, START + timedelta(days=22))
    told = {job: said(open_page(DATA, job=job, attempt="1")) for job in ("most", "more")}

    assert any("500 spans from" in text and "listed" not in text for text in told["most"])
    assert any(
        "501 spans from" in text and text.endswith("The first 500 are listed.")
        for text in told["more"]
    )


def test_without_a_link_the_newest_attempt_that_lost_training_is_walked(walked: Path) -> None:
    page = open_page(DATA)

    assert any(text.startswith("Attempt 1 of ` late `") for text in markdown(page))
    assert any("An example" in text for text in said(page))


def test_without_a_link_no_pruned_attempt_is_walked_while_others_are_there(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    events = attempt("kept", 1, START + timedelta(days=9), trains=900)
    ingest(copy, events, START + timedelta(days=10))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    before = markdown(open_page(DATA))
    assert 0 == keep.main(["prune", "--before", "2026-03-05", "--warehouse", str(copy)])
    after = markdown(open_page(DATA))

    assert any(text.startswith("Attempt 1 of ` late `") for text in before)
    assert any(text.startswith("Attempt 1 of ` kept `") for text in after)


def test_the_days_of_an_attempt_are_cut_at_midnight(walked: Path) -> None:
    page = open_page(DATA, job="late", attempt="1")
    days = next(each.value for each in page.dataframe if "team_ett_percent" in each.value)

    # 22:00 to 24:00, and 1 h 1 min 40 s of the next day
    assert pytest.approx([8 * 2, 8 * (3600 + 100) / 3600]) == days["attempt_gpu_hours"].tolist()


def test_an_interval_counts_on_each_day_that_it_lies_on() -> None:
    intervals = pl.DataFrame(
        {
            "name": ["effective", "unsaved"],
            "started_us": [0, 23 * HOUR],
            "ended_us": [23 * HOUR, 50 * HOUR],
        }
    )
    first = date(1970, 1, 1)
    days = [
        (first + timedelta(days=place), place * 24 * HOUR, (place + 1) * 24 * HOUR)
        for place in range(3)
    ]

    assert [(24.0, 23.0), (24.0, 0.0), (2.0, 0.0)] == [
        (wall / 3600, effective / 3600)
        for wall, effective in walk.by_day(intervals, days)
        .select("wall_seconds", "effective_seconds")
        .rows()
    ]


@pytest.mark.parametrize(("job", "attempt"), [("nobody", "1"), ("late", "77")])
def test_an_attempt_that_is_not_there_is_said(walked: Path, job: str, attempt: str) -> None:
    page = open_page(DATA, job=job, attempt=attempt)

    assert f"There is no attempt {attempt} of a job ` {job} `." in warnings(page)


def test_an_attempt_that_is_no_number_is_said(walked: Path) -> None:
    page = open_page(DATA, job="late", attempt="first")

    assert any("is not the number of an attempt" in text for text in warnings(page))


def test_what_does_not_agree_is_red(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    with duckdb.connect(str(queries.published(copy))) as connection:
        connection.execute("update attempts set effective_seconds = effective_seconds + 60")
    broken = [
        text
        for text in markdown(open_page(DATA, job="late", attempt="1"))
        if ":red[:material/error: broken]" in text
    ]

    assert ["Each area is the sum", "The areas add up"] == [
        text.partition("\u00b7 ")[2].partition(" of its")[0].partition(" to the")[0]
        for text in broken
    ]
    assert all("off by 1 min" in text for text in broken)


def test_an_attempt_outside_the_rollups_says_so(warehouse: Path) -> None:
    serving.publish(warehouse, serving.fleet(days=12))
    page = open_page(DATA, job="excluded-1")

    assert any("outside every rollup" in text for text in said(page))
