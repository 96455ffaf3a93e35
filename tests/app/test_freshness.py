"""How fresh the numbers are, above every page. Ages are of now, as for a reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from tests.app import serving
from tests.app.opening import open_page


def test_fresh_data_is_a_quiet_line_that_leads_to_the_data_page(warehouse: Path) -> None:
    page = with_data_that_ended(hours=6, folder=warehouse)
    line = page.get("page_link")[0].proto.label

    assert not page.warning
    assert not page.error
    assert line.startswith(":small[:gray[Data to ")
    assert line.endswith(", 2 h ago \u00b7 0.0 % of rows set aside]]")


def test_a_missing_day_is_a_warning(warehouse: Path) -> None:
    page = with_data_that_ended(hours=27, folder=warehouse)

    assert page.warning[0].value.startswith("Yesterday is missing. Numbers end on ")


def test_two_missing_days_are_an_error(warehouse: Path) -> None:
    page = with_data_that_ended(hours=51, folder=warehouse)

    assert page.error[0].value.startswith("No event for 2 d 3 h: numbers end on ")


@pytest.mark.parametrize(
    ("hours", "kind", "told"),
    [
        (6, "warning", "No event for 6 h. Numbers end on "),
        (13, "error", "No event for 13 h: numbers end on "),
    ],
)
def test_how_old_is_too_old_is_what_the_alerts_are_set_to(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, hours: int, kind: str, told: str
) -> None:
    config = warehouse / "ett.toml"
    config.write_text("[alerts]\nstale_hours = 3\nvery_stale_hours = 12\n", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    page = with_data_that_ended(hours=hours, folder=warehouse)

    assert page.get(kind)[0].value.startswith(told)


def test_a_source_that_fell_behind_is_named_and_a_long_gone_one_is_not(warehouse: Path) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    path = publish(warehouse, now - timedelta(hours=1))
    with duckdb.connect(str(path)) as connection:
        connection.executemany(
            "insert into sources values (?, 'slurm', null, ?, 1, 0, 1)",
            [["slurm@a100", now - timedelta(days=2)], ["gone", now - timedelta(days=9)]],
        )
    page = open_page()

    assert ["Source ` slurm@a100 ` ends on "] == [each.value[:30] for each in page.warning]


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (6, []),
        (8, ["1 attempt counts as running with nothing known after "]),
    ],
)
def test_what_runs_on_for_a_source_that_is_long_gone_is_told_of(
    warehouse: Path, days: int, told: list[str]
) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    began = now - timedelta(days=days, minutes=1)
    running = serving.Attempt("j", 1, began, {"effective": 60.0}, outcome="running")
    ended = serving.Attempt("k", 1, began, {"effective": 60.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[running, ended], data_at=now))
    captions = [each.value for each in open_page().caption if "as running" in each.value]

    assert told == [each[:53] for each in captions]
    assert all("No number holds what it did since" in each for each in captions)


def with_data_that_ended(*, hours: int, folder: Path) -> AppTest:
    publish(folder, datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=hours))
    return open_page()


def publish(folder: Path, ended: datetime) -> Path:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 60.0})
    published = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=2, minutes=5)
    return serving.publish(
        folder, serving.Warehouse(attempts=[attempt], data_at=ended, published_at=published)
    )
