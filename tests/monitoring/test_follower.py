"""How the exporter follows the warehouse: each publish once, whole, and without a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from app import warehouse as door
from app.monitoring.follower import Pace
from app.warehouse import connect
from queries import watching
from queries.watching import Watching
from tests.monitoring.conftest import Exporter
from tests.monitoring.serving import Attempt, name_current, publish

ONE_DAY = 'ett_gpu_seconds{area="effective",team="ranking",window="1d"}'
SUCCESS = 'ett_exporter_read_success{view="window_areas"}'
PUBLISHED = "ett_published_timestamp_seconds"


def test_without_a_warehouse_only_the_exporter_speaks_of_itself(exporter: Exporter) -> None:
    shown = exporter.samples()

    assert "1.0" == shown.pop('ett_build_info{schema="unknown",version="1.2.3"}')
    assert {"ett_exporter_read_success"} == {series.partition("{")[0] for series in shown}
    assert {"0.0"} == set(shown.values())


def test_the_first_publish_is_found_without_a_restart(warehouse: Path, exporter: Exporter) -> None:
    assert ONE_DAY not in exporter.samples()

    publish(warehouse, [Attempt(gpus=1)])

    assert "900.0" == exporter.samples()[ONE_DAY]


def test_a_new_publish_shows_in_the_next_scrape(warehouse: Path, exporter: Exporter) -> None:
    shown = []
    for gpus in (1, 2, 3):
        publish(warehouse, [Attempt(gpus=gpus)])
        shown.append(exporter.samples()[ONE_DAY])

    assert ["900.0", "1800.0", "2700.0"] == shown


def test_a_new_publish_is_read_even_if_nobody_scrapes(
    warehouse: Path, serve: Callable[[Pace], Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opens(monkeypatch)
    publish(warehouse, [Attempt()])
    serve(Pace(interval=0.01))
    wait_for(lambda: bool(opened))

    assert ["serving-1.duckdb"] == opened


def test_a_publish_is_opened_once_however_often_it_is_scraped(
    warehouse: Path, exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opens(monkeypatch)
    for _ in range(2):
        publish(warehouse, [Attempt()])
        for _ in range(5):
            exporter.get()

    assert ["serving-1.duckdb", "serving-2.duckdb"] == opened


def test_scrapes_of_one_publish_are_the_same_bytes(warehouse: Path, exporter: Exporter) -> None:
    publish(warehouse, [Attempt()])

    assert exporter.get().body == exporter.get().body


def test_how_the_watcher_is_shows_in_the_next_scrape_though_nothing_is_published(
    warehouse: Path, exporter: Exporter
) -> None:
    publish(warehouse, [Attempt()])
    without = exporter.samples()
    watching.write(warehouse, Watching(1000.0, None, 0.5, 3))
    first = exporter.samples()
    watching.write(warehouse, Watching(1015.0, 1014.0, 0.0, 0))
    then = exporter.samples()

    assert {"ett_watch_lag_seconds": "0.5", "ett_watch_backlog_files": "3.0"} == {
        series: first[series] for series in first.keys() - without.keys()
    }
    assert {
        "ett_watch_last_success_timestamp_seconds": "1014.0",
        "ett_watch_lag_seconds": "0.0",
        "ett_watch_backlog_files": "0.0",
    } == {series: then[series] for series in then.keys() - without.keys()}
    assert without.items() <= then.items()


def watched(**other: str) -> str:
    """What a watcher says, with other numbers in the place of some."""
    told = {"written_at": "1", "succeeded_at": "1", "lag_seconds": "0", "backlog_files": "0"}
    return "{" + ", ".join(f'"{name}": {said}' for name, said in (told | other).items()) + "}"


@pytest.mark.parametrize(
    "said",
    [
        "",
        "{",
        "[]",
        '{"written_at": 1}',
        '{"lag_seconds": "x"}',
        watched(backlog_files="1e400"),
        watched(backlog_files="9" * 400),
        watched(written_at="9" * 400),
        watched(written_at="9" * 5_000),
        watched(succeeded_at="1e400"),
        watched(lag_seconds="NaN"),
        "[" * 100_000,
        watched(backlog_files="[" * 100_000),
    ],
    ids=range(13),
)
def test_a_watcher_that_says_nothing_that_can_be_read_costs_no_other_family(
    warehouse: Path, exporter: Exporter, said: str
) -> None:
    publish(warehouse, [Attempt()])
    without = exporter.samples()
    watching.place(warehouse).write_text(said, encoding="utf-8")

    assert without == exporter.samples()


def test_while_a_publish_is_read_the_previous_one_is_served_whole(
    warehouse: Path, serve: Callable[[Pace], Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter = serve(Pace(patience=0.2, interval=0.01))
    publish(warehouse, [Attempt(gpus=1)])
    before = until(exporter, ONE_DAY, "900.0")
    go_on = threading.Event()
    monkeypatch.setattr(door, "connect", lambda path: go_on.wait() and connect(path))
    publish(warehouse, [Attempt(gpus=2)])
    meanwhile = exporter.samples()
    go_on.set()

    assert before == meanwhile
    assert "1800.0" == until(exporter, ONE_DAY, "1800.0")[ONE_DAY]


def test_no_scrape_sees_half_a_publish(warehouse: Path, serve: Callable[[Pace], Exporter]) -> None:
    exporter = serve(Pace(interval=0.01))
    publish(warehouse, [Attempt(gpus=1), Attempt(team="feed", gpus=1)])
    until(exporter, ONE_DAY, "900.0")
    torn: list[dict[str, str]] = []
    scrapes = 0
    done = threading.Event()

    def scrape() -> None:
        nonlocal scrapes
        while not done.is_set():
            shown = exporter.samples()
            scrapes += 1
            of_feed = shown.get(ONE_DAY.replace("ranking", "feed"))
            if shown.get(ONE_DAY) != of_feed or "1.0" != shown[SUCCESS] or of_feed is None:
                torn.append(shown)

    readers = [threading.Thread(target=scrape) for _ in range(3)]
    for reader in readers:
        reader.start()
    for gpus in range(2, 12):
        file = publish(warehouse, [Attempt(gpus=gpus), Attempt(team="feed", gpus=gpus)])
        for old in set(warehouse.glob("serving-*.duckdb")) - {file}:
            old.unlink()  # sooner than an ingest does it
    done.set()
    for reader in readers:
        reader.join()

    assert [] == torn
    assert scrapes > 10


def test_a_file_pruned_before_it_is_opened_is_looked_up_again(
    warehouse: Path, exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect_late(path: Path) -> object:
        if path.name == "serving-1.duckdb":
            publish(warehouse, [Attempt(gpus=2)])
            path.unlink()
        return connect(path)

    monkeypatch.setattr(door, "connect", connect_late)
    publish(warehouse, [Attempt(gpus=1)])

    assert "1800.0" == exporter.samples()[ONE_DAY]


def test_a_publish_that_cannot_be_opened_leaves_the_one_before_marked_as_old(
    warehouse: Path, exporter: Exporter
) -> None:
    publish(warehouse, [Attempt(gpus=1)])
    before = exporter.samples()
    (warehouse / "serving-2.duckdb").write_bytes(b"not a database")
    name_current(warehouse, "serving-2.duckdb")
    after = exporter.samples()

    assert (200, "0.0") == (exporter.get("/-/ready").status, after[SUCCESS])
    assert without_success(before) == without_success(after)


def test_a_publish_that_could_not_be_opened_is_tried_again(
    warehouse: Path, serve: Callable[[Pace], Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = threading.Event()
    failing.set()

    def connect_unless_failing(path: Path) -> duckdb.DuckDBPyConnection:
        if failing.is_set():
            raise duckdb.IOException("too many open files")
        return connect(path)

    monkeypatch.setattr(door, "connect", connect_unless_failing)
    publish(warehouse, [Attempt(gpus=1)])
    exporter = serve(Pace(patience=20, interval=0.01, retry=0.05))
    ready = exporter.get("/-/ready")
    failing.clear()

    assert (503, True) == (ready.status, "cannot be opened" in ready.text())
    assert "1.0" == until(exporter, ONE_DAY, "900.0")[SUCCESS]


def test_a_publish_of_a_newer_release_is_told_as_that_and_once(
    warehouse: Path, exporter: Exporter, caplog: pytest.LogCaptureFixture
) -> None:
    publish(warehouse, [Attempt()])
    exporter.get()
    publish(warehouse, [Attempt()], spoil="update publication set schema_version = 1000")
    shown = [exporter.samples() for _ in range(3)]
    ready = exporter.get("/-/ready")

    assert [False] * 3 == [ONE_DAY in one for one in shown]
    assert ["0.0"] * 3 == [one[SUCCESS] for one in shown]
    assert (503, True) == (ready.status, "Update this installation" in ready.text())
    assert 1 == caplog.text.count("was published by a newer release")


def test_a_rebuilt_warehouse_that_uses_a_name_again_is_a_new_publish(
    warehouse: Path, exporter: Exporter
) -> None:
    publish(warehouse, [Attempt(gpus=1)])
    exporter.get()
    (warehouse / "CURRENT").unlink()
    (warehouse / "serving-1.duckdb").unlink()
    publish(warehouse, [Attempt(gpus=2)])

    assert "1800.0" == exporter.samples()[ONE_DAY]


def test_a_warehouse_that_is_gone_is_no_longer_shown(warehouse: Path, exporter: Exporter) -> None:
    publish(warehouse, [Attempt()])
    exporter.get()
    (warehouse / "CURRENT").unlink()

    assert ONE_DAY not in exporter.samples()
    assert 503 == exporter.get("/-/ready").status


def test_a_reader_reaches_nothing_but_the_published_file(warehouse: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n", encoding="utf-8")
    with closing(connect(publish(warehouse))) as connection:
        forbidden = [
            f"from '{secret}'",
            f"attach '{tmp_path / 'other.duckdb'}'",
            f"copy targets to '{tmp_path / 'out.csv'}'",
            "create table t as select 1",
            "set enable_external_access = true",
            "install httpfs",
        ]
        refused = [sql for sql in forbidden if refuses(connection, sql)]

    assert forbidden == refused
    assert ["secret.csv", "warehouse"] == sorted(path.name for path in tmp_path.iterdir())


def test_two_connections_of_one_process_share_a_file(warehouse: Path) -> None:
    file = publish(warehouse)
    with closing(connect(file)) as one, closing(connect(file)) as two:
        zones = [c.execute("select current_setting('timezone')").fetchall() for c in (one, two)]

    assert [[("UTC",)], [("UTC",)]] == zones


def opens(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    opened: list[str] = []

    def connect_noted(path: Path) -> duckdb.DuckDBPyConnection:
        opened.append(path.name)
        return connect(path)

    monkeypatch.setattr(door, "connect", connect_noted)
    return opened


def until(exporter: Exporter, series: str, value: str) -> dict[str, str]:
    wait_for(lambda: exporter.samples().get(series) == value)
    return exporter.samples()


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("what was waited for did not come")


def without_success(shown: dict[str, str]) -> dict[str, str]:
    return {series: value for series, value in shown.items() if "read_success" not in series}


def refuses(connection: duckdb.DuckDBPyConnection, sql: str) -> bool:
    try:
        connection.execute(sql)
    except duckdb.Error:
        return True
    return False
