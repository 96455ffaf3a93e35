"""The SQL that pages show: with the values of the page in it, it runs where it is pasted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

import queries
from app import parts, shown_sql
from app.warehouse import connect
from queries import model
from tests.app import found, serving
from tests.app.dumps import attempt, ingest
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOB,
    JOBS,
    LOST,
    OVERVIEW,
    START,
    open_page,
)

REGRESSIONS = "views/regressions.py"
SEEN = (
    (OVERVIEW, {"team": "feed"}),
    (OVERVIEW, {"weight": "wall"}),
    (LOST, {}),
    (LOST, {"area": "unsaved", "days": "7"}),
    (START, {}),
    (CHECKPOINTS, {}),
    (FAILURES, {"attribution": "all"}),
    (JOBS, {"q": "feed"}),
    (JOB, {"job": "stubborn"}),
    (DATA, {}),
    (REGRESSIONS, {}),
    (REGRESSIONS, {"tab": "Closed"}),
    (REGRESSIONS, {"team": "feed", "metric": "trainer_init_seconds"}),
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    found.add(serving.publish(folder, serving.fleet()), found.whole())
    return folder


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as an ingest publishes it: with views and macros of its own, and nothing else."""
    folder = tmp_path_factory.mktemp("real")
    start = datetime(2026, 3, 1, 6)
    return queries.published(
        ingest(folder, attempt("j", 1, start, trains=600), start + timedelta(days=2))
    )


@pytest.mark.parametrize(("path", "parameters"), SEEN)
def test_every_select_on_a_page_runs_on_a_published_file(
    told: Path,
    real: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    parameters: dict[str, str],
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(told))
    monkeypatch.setattr(parts, "_footer", explained)
    shown = [code.value for code in open_page(path, **parameters).code if code.language == "sql"]

    assert shown
    with connect(real) as connection:
        assert [] == [each for each in (refused(connection, sql) for sql in shown) if each]


def explained(_: str, table: parts.Table, about: str, measures: Sequence[str], sql: str) -> None:
    """A footer whose explanation is open."""
    parts.explain(measures, sql)


def refused(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    try:
        connection.sql(sql).fetchall()
    except duckdb.Error as error:
        return f"{error}\n{sql}"
    return ""


def test_every_view_of_the_definitions_has_a_select_that_runs(real: Path) -> None:
    values = {
        name: shown_sql.literal(value) for name, value in parts.any_values(date(2026, 3, 1)).items()
    }
    with connect(real) as connection:
        selects = [shown_sql.of_all(view, values) for view in parts.views()]

        assert [] == [each for each in (refused(connection, sql) for sql in selects) if each]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        date(2026, 3, 1),
        datetime(2026, 3, 1, 6, 0, 1),
        "it's; drop table attempts; --",
        "$1 ? 'x'",
        "\u202efeed\x00\n",
        serving.HOSTILE,
    ],
)
def test_a_value_is_read_as_itself(value: object) -> None:
    text = shown_sql.with_values("select $1 as a, ? as b, '$1 ?' as c", [value])

    assert not any(each in text for each in "\x00\n\u202e")
    assert [(value, value, "$1 ?")] == duckdb.sql(text).fetchall()


def test_a_list_is_a_list_and_a_comment_stays() -> None:
    text = shown_sql.with_values("select list_contains($1, 'b') -- $1\n", [("a", "b")])

    assert text == "select list_contains(['a', 'b'], 'b') -- $1\n"


def test_a_macro_is_shown_with_what_it_was_called_with() -> None:
    [view] = [each for each in model.models("serving") if each.name == "job_medians"]
    text = shown_sql.of_view(view, model.models("serving"), "from job_medians('a, (b)')")

    assert text is not None
    assert "team = 'a, (b)'" in text


def test_the_definitions_show_every_view_of_a_published_file(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(real.parent))
    [offered] = [each.options for each in open_page(DATA).selectbox if each.label == "View"]
    with connect(real) as connection:
        published = connection.sql(
            "select view_name from duckdb_views() where not internal "
            "union select table_name from duckdb_tables() "
            "union select function_name from duckdb_functions() where not internal"
        ).fetchall()

    own = {"detector", "regression_marks"}  # what the next publication asks the file itself
    assert own == {name for (name,) in published} - set(offered)
