"""The door to DuckDB: parameters, refusals, and which publish is read."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from datetime import date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from app import data
from queries import frames
from tests.app import serving


def test_parameters_are_values_and_never_sql(fleet: Path) -> None:
    found = data.frame("select ? as name", serving.HOSTILE)

    assert serving.HOSTILE == found["name"][0]


@pytest.fixture(scope="module")
def tempting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published warehouse with a secret beside it, and links that lead out of its detail."""
    folder = tmp_path_factory.mktemp("tempting")
    serving.publish(folder, serving.empty())
    (folder / "detail").mkdir(exist_ok=True)
    (folder / "beside.txt").write_text("a secret")
    (folder / "detail" / "kept.parquet").write_text("as it was")
    (folder / "detail" / "link").symlink_to("/etc/passwd")
    (folder / "detail" / "up").symlink_to("/etc")
    return folder


def test_a_select_that_fails_names_its_view(fleet: Path) -> None:
    with pytest.raises(data.ViewFailed) as failure:
        data.frame("select nothing_like_it from attempts")

    assert "attempts" == failure.value.view


@pytest.mark.parametrize(
    "sql",
    [
        "create table more (x int)",
        "create temp table more as select 1",
        "copy attempts to 'out.csv'",
        "copy attempts to '/tmp/out.csv'",
        "copy (select 1) to '{folder}/detail/kept.parquet'",
        "export database '{folder}/detail/all'",
        "from read_text('/etc/passwd')",
        "from read_csv('/etc/passwd')",
        "from glob('/etc/*')",
        "from read_text('{folder}/beside.txt')",
        "from read_text('{folder}/detail/../beside.txt')",
        "from read_blob('{folder}/detail/link')",
        "from read_blob('{folder}/detail/up/passwd')",
        "from 'http://127.0.0.1:1/x.parquet'",
        "install httpfs",
        "load httpfs",
        "attach 'other.duckdb'",
        "attach '{folder}/detail/other.duckdb'",
        "set enable_external_access = true",
        "set global temp_directory = '/tmp'",
        "select 1; drop table attempts",
        "pragma database_list",
    ],
)
def test_a_page_can_write_and_reach_nothing(
    tempting: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tempting))
    detail = tempting / "detail"
    before = sorted(detail.iterdir())
    with pytest.raises(data.ViewFailed):
        data.frame(sql.format(folder=tempting))

    assert before == sorted(detail.iterdir())
    assert "as it was" == (detail / "kept.parquet").read_text()


def test_a_publish_is_followed_unless_a_run_has_pinned_one(warehouse: Path) -> None:
    serving.publish(warehouse, serving.fleet(teams=("ranking",), days=2))
    pinned = data.pin()
    serving.publish(warehouse, serving.empty(), sequence=2)

    assert data.row("select count(*) as n from attempts")["n"] > 0

    assert pinned != data.pin()
    assert 0 == data.row("select count(*) as n from attempts")["n"]


def test_what_a_page_ran_is_shown_though_its_file_is_pruned_meanwhile(warehouse: Path) -> None:
    def page() -> str:
        first = serving.publish(warehouse, serving.fleet(days=3), sequence=1)
        data.pin()
        data.frame("select $1 as early", 7)
        serving.publish(warehouse, serving.fleet(days=4), sequence=2)
        first.unlink()
        data.frame("select $1 as late", 8)
        return data.shown("select $1 as early") + data.shown("select $1 as late")

    assert "select 7 as earlyselect 8 as late" == copy_context().run(page)


def test_a_run_reads_one_publish_to_its_end_though_its_file_is_pruned(warehouse: Path) -> None:
    first = serving.publish(warehouse, serving.empty())
    data.pin()
    serving.publish(warehouse, serving.fleet(teams=("ranking",), days=2), sequence=2)
    first.unlink()

    assert 0 == data.row("select count(*) as n from attempts")["n"]

    data.pin()
    assert data.row("select count(*) as n from attempts")["n"] > 0


def test_a_file_that_is_pruned_as_it_is_opened_gives_way_to_the_next(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = serving.publish(warehouse, serving.empty())
    connect = data.warehouse.connect

    def pruned(path: Path) -> duckdb.DuckDBPyConnection:
        if path == first:
            serving.publish(warehouse, serving.fleet(teams=("ranking",), days=2), sequence=2)
            first.unlink()
        return connect(path)

    monkeypatch.setattr(data.warehouse, "connect", pruned)

    assert first != data.pin()
    serving.publish(warehouse, serving.empty(), sequence=3)
    assert data.row("select count(*) as n from attempts")["n"] > 0


def test_a_warehouse_that_is_made_anew_is_read_though_its_files_have_the_same_names(
    warehouse: Path, tmp_path: Path
) -> None:
    """The engine opens anew what it has open under a path, whatever is there by now."""
    first = serving.publish(warehouse, serving.fleet(teams=("ranking",), days=2))
    data.pin()
    assert data.row("select count(*) as n from attempts")["n"] > 0
    anew = serving.publish(tmp_path / "anew", serving.empty())
    anew.replace(first)

    assert first == data.pin()
    assert 0 == data.row("select count(*) as n from attempts")["n"]


@pytest.mark.parametrize(
    "name", ["it's; b -- \"t%", "a?b=c&d [*] ~$HOME", "md:x", "new\nline", "ö"]
)
def test_a_warehouse_is_read_in_a_folder_of_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name / name
    monkeypatch.setenv("ETT_WAREHOUSE", str(folder))
    published = serving.publish(folder, serving.empty())

    assert published == data.pin()
    assert 0 == data.row("select count(*) as n from attempts")["n"]


def test_newer_publishes_break_no_select_that_runs_and_close_the_file_it_reads_after_it(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = serving.publish(warehouse, serving.fleet(teams=("ranking",), days=2))
    runs, goes_on = threading.Event(), threading.Event()
    allow = data.warehouse.refuse_all_but_selects

    def held(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
        allow(cursor, sql)
        if "as held" in sql:
            runs.set()
            goes_on.wait(30)

    monkeypatch.setattr(data.warehouse, "refuse_all_but_selects", held)
    with ThreadPoolExecutor(max_workers=1) as reader:
        found = reader.submit(data.row, "select count(*) as held from attempts")
        assert runs.wait(30)
        for sequence in range(2, 6):
            serving.publish(warehouse, serving.empty(), sequence)
            data.pin()
            assert {"n": 0} == data.row("select count(*) as n from attempts")
        assert str(first) in open_files()
        goes_on.set()

        assert found.result(30)["held"] > 0
    assert str(first) not in open_files()


def test_a_publish_is_closed_after_its_run_though_something_keeps_the_context_of_that(
    warehouse: Path,
) -> None:
    def run() -> Context:
        data.pin()
        return copy_context()

    first = serving.publish(warehouse, serving.empty())
    with ThreadPoolExecutor(max_workers=1) as page:
        kept = page.submit(run).result(30)
        assert str(first) in open_files()
    for sequence in (2, 3):  # no more of them stay open for others
        serving.publish(warehouse, serving.empty(), sequence)
        data.pin()

    assert str(first) not in open_files()
    assert kept is not None


def open_files() -> set[str]:
    """The files that this process has open."""
    return {os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()}


def test_nothing_published_is_said_as_such(warehouse: Path) -> None:
    with pytest.raises(data.NothingPublished, match="ett-ingest PATH"):
        data.pin()


def test_a_folder_that_is_a_link_to_itself_is_one_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path / "loop"))
    with pytest.raises(data.ViewFailed, match="Too many levels of symbolic links"):
        data.published()


def test_a_file_that_may_not_be_read_is_not_said_to_be_damaged(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving.publish(warehouse, serving.fleet())

    def refuse(_: Path) -> duckdb.DuckDBPyConnection:
        raise duckdb.IOException('IO Error: Cannot open file "serving-9.duckdb": Permission denied')

    monkeypatch.setattr("app.warehouse.connect", refuse)
    data.pin()
    with pytest.raises(data.ViewFailed) as failure:
        data.frame("select * from publication")

    assert failure.value.reason.startswith(
        "who runs this needs to read every file of the warehouse"
    )


def test_detail_is_that_of_the_job_with_the_dump_it_came_from(fleet: Path) -> None:
    data.pin()
    detail = data.detail("stubborn")

    assert set(range(1, 35)) == set(detail["attempt"])
    assert {"stubborn"} == set(detail["job_id"])
    assert {None, "dumps/events-0303.jsonl.gz"} == set(detail["file"])


def test_the_detail_of_many_saves_takes_about_as_long_as_to_sort_them(warehouse: Path) -> None:
    saving = {"effective": 60.0, "checkpoint_save": 2.0}
    attempt = serving.Attempt("saver", 1, datetime(2026, 3, 3, 9), saving)
    serving.publish(warehouse, serving.Warehouse(attempts=[attempt]))
    [file] = (warehouse / "detail").iterdir()
    areas = pl.read_parquet(file).filter(pl.col("kind") == "area")
    moved = pl.int_range(pl.len()).floordiv(2) * 62_000_000
    many = pl.concat([areas] * 100_000).with_columns(
        pl.col("started_us") + moved, pl.col("ended_us") + moved
    )
    many.write_parquet(file)
    data.pin()

    began = time.perf_counter()
    with duckdb.connect() as plain:
        frames.told(plain, f"select * from '{file}' order by started_us, ended_us")
    sorted_at = time.perf_counter()
    told = data.detail("saver")

    assert many.height == told.height
    # about six times as long; what looks back on all rows for each takes over a hundred times
    assert time.perf_counter() - sorted_at < 25 * (sorted_at - began)


def test_a_job_that_is_not_there_has_no_detail(fleet: Path) -> None:
    data.pin()

    assert data.detail("no such job").is_empty()


def test_a_day_starts_at_midnight_of_its_zone() -> None:
    assert datetime(2026, 3, 2, 15) == data.midnight(date(2026, 3, 3), "Asia/Tokyo")


def test_an_empty_answer_keeps_its_columns_and_types(fleet: Path) -> None:
    found = data.frame("select 1::bigint as n, 'a' as name, date '2026-03-03' as day where false")

    assert {"n": pl.Int64, "name": pl.String, "day": pl.Date} == dict(found.schema)
    assert 0 == found.height
