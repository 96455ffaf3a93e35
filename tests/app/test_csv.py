"""The CSVs: whoever opens one without the page knows what each column counts."""

from __future__ import annotations

import csv
import re
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from app import one_job, parts
from tests.app.opening import PAGES, open_page

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
