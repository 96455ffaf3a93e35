"""The CSVs: whoever opens one without the page knows what each column counts."""

from __future__ import annotations

import csv
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from app import one_job, parts
from tests.app import dumps
from tests.app.opening import FAILURES, LOST, PAGES, START, open_page

WEEK = datetime(2026, 3, 2, tzinfo=UTC)
# hours: of GPUs, or of attempts?
NAMELESS = re.compile(r"_us$|amount$|_at$|(?<!gpu_)(?<!wall_)hours$")


@pytest.fixture
def heads(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Columns of the CSVs that the pages offer from now on, by file name."""
    found: dict[str, list[str]] = {}

    def taken(*, stem: str, table: parts.Table, about: str, **_: object) -> None:
        found[stem] = parts.csv(table, about).decode().splitlines()[1].split(",")

    monkeypatch.setattr(parts, "footer", taken)
    return found


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, pl.DataFrame]:
    """Tables of the CSVs that the pages offer from now on, by file name."""
    found: dict[str, pl.DataFrame] = {}

    def taken(*, stem: str, table: parts.Table, **_: object) -> None:
        found[stem] = table() if callable(table) else table

    monkeypatch.setattr(parts, "footer", taken)
    return found


@pytest.fixture(scope="module")
def two_weeks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Waits of 30 s and 240 s, then of 60 s and 120 s; all of the second week fail, none before."""
    waits = {WEEK: (30, 240), WEEK + timedelta(days=7): (60, 120)}
    events = [
        event
        for monday, seconds in waits.items()
        for wait in seconds
        for event in _life(f"{monday:%d}-{wait}", monday, wait, monday > WEEK)
    ]
    return dumps.ingest(tmp_path_factory.mktemp("weeks"), events, WEEK + timedelta(days=14))


@pytest.fixture
def weeks(two_weeks: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of the two weeks; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(two_weeks))
    return two_weeks


def _life(job_id: str, starts: datetime, wait: int, is_failed: bool) -> list[dict[str, object]]:
    """An attempt that trains for 600 s; one that fails evaluates first, another saves."""
    base = {"job_id": job_id, "gpus": 8}
    trains, ends = (starts + timedelta(seconds=wait + passed) for passed in (0, 600))
    within = trains + timedelta(seconds=60)
    stop = {"phase": "evaluation" if is_failed else "checkpoint_save", "ts": trains.isoformat()}
    ending = {"outcome": "failed" if is_failed else "completed", "ts": ends.isoformat()}
    return [
        {**base, "event": "attempt_start", "ts": starts.isoformat()},
        {**base, "event": "phase_start", "phase": "training", "ts": trains.isoformat()},
        {**base, "event": "phase_start", **stop, "end_ts": within.isoformat()},
        {**base, "event": "attempt_end", **ending},
    ]


@pytest.mark.parametrize("weight", ["gpu", "wall"])
@pytest.mark.parametrize("page", [page for page in PAGES if not page.endswith("job.py")])
def test_every_column_names_its_unit_or_zone(
    fleet: Path, heads: dict[str, list[str]], page: str, weight: str
) -> None:
    open_page(page, weight=weight)

    assert heads
    assert {} == {
        stem: wrong
        for stem, columns in heads.items()
        if (wrong := [name for name in columns if NAMELESS.search(name)])
    }


@pytest.mark.parametrize("page", [page for page in PAGES if not page.endswith("job.py")])
def test_nothing_of_the_days_before_is_told_where_nothing_is_compared(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    told: dict[str, int] = {}

    def taken(*, stem: str, table: parts.Table, **_: object) -> None:
        rows = table() if callable(table) else table
        before = [name for name in rows.columns if name.startswith("previous_")]
        told[stem] = sum(rows[name].count() for name in before)

    monkeypatch.setattr(parts, "footer", taken)
    open_page(page, vs="none", days="7", attribution="all")

    assert told
    assert {} == {stem: values for stem, values in told.items() if values}


def test_amounts_are_named_by_what_they_count(fleet: Path, heads: dict[str, list[str]]) -> None:
    for weight in ("gpu", "wall"):
        open_page(weight=weight)
        (teams,) = (columns for stem, columns in heads.items() if "_teams_" in stem)
        counts = [name for name in teams if name.startswith("lost_")]

        assert {"gpu": [], "wall": ["lost_seconds"]}[weight] == counts[:-1]
        assert "lost_gpu_seconds" == counts[-1]


def test_times_are_iso_in_the_zone_that_their_head_names() -> None:
    table = pl.DataFrame({"ended_at": [datetime(2026, 3, 3, 9, 30)], "day": ["2026-03-03"]})

    assert ["ended_at_utc,day", "2026-03-03T09:30:00.000000,2026-03-03"] == (
        parts.csv(table, "all").decode().splitlines()[1:]
    )


def test_a_timeline_tells_instants() -> None:
    detail = pl.DataFrame(
        {
            "kind": ["area", "span", "save"],
            "started_us": [1_000_000, 0, 2_500_000],
            "ended_us": [2_000_000, 0, 2_500_000],
        }
    )

    assert [
        "kind,started_at_utc,ended_at_utc",
        "area,1970-01-01T00:00:01.000000,1970-01-01T00:00:02.000000",
        "save,1970-01-01T00:00:02.500000,1970-01-01T00:00:02.500000",
    ] == parts.csv(one_job.timeline(detail), "all").decode().splitlines()[1:]


@pytest.mark.parametrize("name", ["a,=1+1", "a;@SUM(1)", 'a,"=1+1"', "a, -1", "a,+1"])
def test_no_name_is_a_formula_in_the_line_above_the_columns(name: str) -> None:
    line = parts.csv(pl.DataFrame({"day": []}), f"2 jobs of {name}").decode().splitlines()[0]

    for separator in ",;":
        cells = next(csv.reader([line], delimiter=separator))
        assert [] == [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]


def _only(tables: dict[str, pl.DataFrame], name: str) -> pl.DataFrame:
    (table,) = (table for stem, table in tables.items() if f"_{name}_" in stem)
    return table


def test_a_curve_of_waits_stands_where_it_stood_at_a_step_of_the_other(
    weeks: Path, tables: dict[str, pl.DataFrame]
) -> None:
    open_page(START, days="7")
    told = _only(tables, "tts-spread")

    # 90 s, 120 s, 180 s and 300 s: 60 s of evaluation or of a save stand before the first batch
    assert [("start", 0, 0.0, 0.5), ("start", 1, 0.5, 0.5)] == told.drop("up_to_seconds").rows()[:2]
    assert [("start", 2, 1.0, 0.5), ("start", 2, 1.0, 1.0)] == told.drop("up_to_seconds").rows()[2:]


def test_a_curve_of_waits_has_none_beside_it_where_nothing_is_compared(
    weeks: Path, tables: dict[str, pl.DataFrame]
) -> None:
    open_page(START, days="7", vs="none")
    told = _only(tables, "tts-spread")

    assert [("start", 1, 0.5, None), ("start", 2, 1.0, None)] == told.drop("up_to_seconds").rows()


def test_a_cause_that_stopped_nothing_in_the_days_before_is_told_with_none(
    weeks: Path, tables: dict[str, pl.DataFrame]
) -> None:
    page = open_page(FAILURES, days="7", attribution="all")
    told = _only(tables, "cost")
    [shown] = [each.value for each in page.dataframe if "previous_interruptions" in each.value]

    assert [(2, 0)] == told.select("interruptions", "previous_interruptions").rows()
    assert [0.0] == told["previous_lost_gpu_seconds"].to_list()
    assert [0] == shown["previous_interruptions"].tolist()
    assert [0.0] == shown["previous_lost_gpu_hours"].tolist()


def test_an_area_that_took_nothing_of_the_day_before_had_no_share_of_it(
    weeks: Path, tables: dict[str, pl.DataFrame]
) -> None:
    open_page(LOST, days="7")
    told = _only(tables, "by-day").filter(pl.col("area") == "evaluation")

    assert [(date(2026, 3, 9), 0.0)] == told.select("day", "previous_share_ratio").rows()
