"""What a page says when something is wrong: no path, no SQL, no traceback; that is for the log."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb
import pytest

from app import report
from tests.app import serving
from tests.app.opening import CHECKPOINTS, FAILURES, LOST, OVERVIEW, START, open_page, said

ROOT = Path(__file__).parents[2]


def test_a_view_that_fails_is_named_and_nothing_else(
    warehouse: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop macro table window_team_areas")
    page = open_page(LOST)

    assert ["The view `window_team_areas` could not be read. The dashboard's log says why."] == [
        error.value for error in page.error if "view" in error.value
    ]
    assert "the view window_team_areas: what is published does not have it" in caplog.text


@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, CHECKPOINTS, FAILURES])
def test_what_an_older_release_published_is_told_from_an_error(
    warehouse: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    path: str,
) -> None:
    file = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(file)) as connection:
        connection.execute("drop macro table window_measures")
    page = open_page(path)
    status = report.main(["--format", "md"])
    anew = "the next ingest or `ett-warehouse rebuild` publishes it anew: Catalog Error"

    assert ["The view `window_measures` could not be read. The dashboard's log says why."] == [
        error.value for error in page.error if "view" in error.value
    ]
    assert anew in caplog.text
    assert 1 == status
    assert capsys.readouterr().err.startswith(
        "ett-report: the view window_measures could not be read: what is published does not have "
        f"it, as that of an older release; {anew}"
    )


@pytest.mark.parametrize("current", [None, "serving-9.duckdb", "../../etc/passwd"])
def test_without_a_warehouse_the_page_names_no_folder(
    warehouse: Path, current: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    if current:
        (warehouse / "CURRENT").write_text(current)
    page = open_page()

    assert ["No data yet"] == [title.value for title in page.title]
    assert not any(str(warehouse) in text for text in said(page))
    assert any("make ingest" in text for text in said(page))
    assert str(warehouse) in caplog.text


def test_a_runbook_is_read_while_nothing_else_can_be(warehouse: Path) -> None:
    nothing = open_page("views/runbook.py", alert="EttExporterReadFailing")
    serving.publish(warehouse, serving.empty()).write_bytes(b"no database")
    damaged = open_page("views/runbook.py", alert="EttExporterReadFailing")

    assert ["No data yet"] == [title.value for title in nothing.title]
    assert damaged.error
    for page in (nothing, damaged):
        assert any("Publish anew: `ett-warehouse rebuild`" in text for text in said(page))


def test_a_backup_is_told_as_one_and_not_to_be_filled(
    warehouse: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (warehouse / "backup.json").touch()
    page = open_page()

    assert ["No data yet"] == [title.value for title in page.title]
    assert any("is a backup. `ett-warehouse restore` makes" in text for text in said(page))
    assert not any("make ingest" in text or str(warehouse) in text for text in said(page))
    assert f"`ett-warehouse restore {warehouse} --warehouse DIR`" in caplog.text


def test_a_name_of_the_publication_that_cannot_be_read_is_an_error_of_its_own(
    warehouse: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (warehouse / "CURRENT").mkdir()  # as a lost permission, which root never has
    page = open_page()
    status = report.main(["--format", "md"])

    assert page.error
    assert not any(str(warehouse) in text for text in said(page))
    assert 1 == status
    assert (
        "ett-report: the view publication could not be read: Is a directory\n"
        == capsys.readouterr().err
    )


def test_a_file_that_is_no_database_is_not_named(warehouse: Path) -> None:
    path = serving.publish(warehouse, serving.empty())
    path.write_bytes(b"no database")
    page = open_page()

    assert page.error
    assert not any(str(warehouse) in text for text in said(page))


def test_streamlit_shows_the_type_of_an_error_at_most() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())

    assert "type" == settings["client"]["showErrorDetails"]
