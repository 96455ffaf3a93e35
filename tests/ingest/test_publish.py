"""CURRENT names a file that opens, and what no reader needs any more goes."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from pathlib import Path

import duckdb
import pytest

from ingest import cli, detail, plan, publish
from ingest.settings import Settings
from ingest.warehouse import Warehouse
from queries import NothingPublished, model, places, published, regression_tables
from tests.ingest.warehouses import ROOT, STARTED_AT, alive, contents, life
from tests.queries.engine import ingest, reading, rows, write_dump

ENDLESS = "select sum(a.range * b.range) from range(9000000) a, range(9000000) b"


def ingest_jobs(folder: Path, *jobs: str) -> Path:
    folder.mkdir(exist_ok=True)
    for job in jobs:
        dump = write_dump(folder / f"{job}.jsonl", life(job, 600 + "abcdefgh".index(job)))
        ingest(folder / "warehouse", dump)
    return folder / "warehouse"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A warehouse that gets one job after the other, as it was after each, by the jobs it has."""
    folder = tmp_path_factory.mktemp("grown")
    return {
        jobs: shutil.copytree(ingest_jobs(folder, jobs[-1]), folder / jobs)
        for jobs in accumulate("abcde")
    }


def copy_of(warehouse: Path, folder: Path) -> Path:
    return shutil.copytree(warehouse, folder / "warehouse")


def serving(warehouse: Path) -> list[str]:
    return sorted(path.name for path in warehouse.glob("serving-*"))


def test_the_last_three_publications_stay_with_their_detail(grown: dict[str, Path]) -> None:
    warehouse = grown["abcde"]
    listed = set()
    for name in serving(warehouse):
        with reading(warehouse / name) as reader:
            listed |= set(reader.execute("select file from detail_files").fetchall())
    there = {(path.name,) for path in (warehouse / "detail").iterdir()}

    assert 3 == len(serving(warehouse))
    assert published(warehouse).name == serving(warehouse)[-1]
    assert listed == there


@pytest.fixture(scope="module")
def told_anew(
    grown: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[bool]]:
    """A warehouse whose first job is told anew on three days, and whether its first detail was
    there after each of them.
    """
    folder = tmp_path_factory.mktemp("told_anew")
    warehouse = copy_of(grown["a"], folder)
    [told_first] = (warehouse / "detail").iterdir()
    others = {1: [*life("changes")[:2], *life("stays")], 2: [alive("changes", 86_400)]}
    stays = []
    for day in (1, 2, 3):
        told = [alive("a", day * 86_400), *others.get(day, [])]
        ingest(warehouse, write_dump(folder / f"{day}.jsonl", told))
        stays.append(told_first.exists())
    return warehouse, stays


def test_detail_that_only_an_older_publication_lists_goes_with_it(
    told_anew: tuple[Path, list[bool]],
) -> None:
    _, stays = told_anew

    assert [True, True, False] == stays  # told anew, the job stands in another file


def test_a_publication_never_changes_once_it_is_named(grown: dict[str, Path]) -> None:
    first = published(grown["a"])
    base = published(grown["abcd"])  # the next one was made of a copy of it

    assert first.read_bytes() == (grown["abc"] / first.name).read_bytes()
    assert base.read_bytes() == (grown["abcde"] / base.name).read_bytes()


def test_the_rest_is_whole_though_what_got_worse_is_there_first(
    grown: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = model.serve

    def late(connection: duckdb.DuckDBPyConnection) -> None:
        until = time.monotonic() + 60
        while (
            time.monotonic() < until
            and not connection.execute(
                "select 1 from duckdb_tables() where database_name = 'serving' "
                "and table_name = 'regression_marks'"
            ).fetchall()
        ):
            time.sleep(0.01)
        serve(connection)

    monkeypatch.setattr(model, "serve", late)
    both = write_dump(tmp_path / "ab.jsonl", [*life("a", 600), *life("b", 601)])
    ingest(tmp_path / "warehouse", both)

    assert contents(grown["ab"]) == contents(tmp_path / "warehouse")


def test_a_publication_that_is_stopped_waits_for_no_query_of_the_detector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stopped = threading.Event(), threading.Event()
    ended: list[str] = []

    def search(connection: duckdb.DuckDBPyConnection, settings: Settings) -> None:
        begun.set()
        stopped.wait(60)
        time.sleep(0.2)  # at no query when it is stopped, and then at one after the other
        for query in (ENDLESS, ENDLESS):
            try:
                connection.execute(query)
            except duckdb.InterruptException:
                ended.append(query)

    def stop(connection: duckdb.DuckDBPyConnection) -> None:
        begun.wait(60)
        stopped.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(regression_tables, "serve", search)
    monkeypatch.setattr(model, "serve", stop)
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))

    assert 130 == ingest(tmp_path / "warehouse", dump)
    assert [ENDLESS, ENDLESS] == ended


@pytest.mark.parametrize("is_long", [True, False])
def test_a_long_log_is_in_the_file_before_a_publication_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_long: bool
) -> None:
    """Whoever opens the warehouse after a kill would have to read it in. A short one is taken in
    once, by who closes the file.
    """
    log = tmp_path / "warehouse" / "warehouse.duckdb.wal"
    served, synced = model.serve, publish._sync
    sizes: list[int] = []

    def size() -> int:
        return log.stat().st_size if log.exists() else 0

    def serve(connection: duckdb.DuckDBPyConnection) -> None:
        sizes.append(size())
        served(connection)

    def sync(path: Path) -> None:
        sizes.append(size())
        synced(path)

    monkeypatch.setattr(model, "serve", serve)
    monkeypatch.setattr(publish, "_sync", sync)
    if is_long:
        monkeypatch.setattr(publish, "_LONG_LOG_BYTES", 1)
    ingest_jobs(tmp_path, "a")

    committed, named = sizes
    assert committed > 0
    assert (0 if is_long else committed) == named
    assert 0 == size()


def test_nothing_new_publishes_nothing_new(grown: dict[str, Path], tmp_path: Path) -> None:
    warehouse = copy_of(grown["a"], tmp_path)
    before = published(warehouse), os.stat(published(warehouse)).st_mtime_ns
    ingest(warehouse, write_dump(grown["a"].with_name("a.jsonl"), life("a")))

    assert before == (published(warehouse), os.stat(published(warehouse)).st_mtime_ns)


@pytest.mark.parametrize(("share", "publications"), [(1.0, 3), (1e-6, 2)])
def test_a_long_ingest_spends_a_share_of_its_time_on_publishing(
    share: float, publications: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first batch, and at the end; in between as often as the share allows."""
    monkeypatch.setattr(plan, "BATCH_FILES", 1)
    monkeypatch.setattr(cli, "PUBLISH_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(cli, "PUBLISHING_SHARE", share)
    counted: list[int] = []
    tell = publish.publish
    monkeypatch.setattr(publish, "publish", lambda *told: (counted.append(1), tell(*told)))
    for number, job in enumerate("abc"):
        write_dump(tmp_path / f"{job}.jsonl", life(job, 600 + number))

    assert 0 == ingest(tmp_path / "warehouse", *sorted(tmp_path.glob("*.jsonl")))

    assert publications == len(counted)
    assert [(3,)] == rows(tmp_path / "warehouse", "select count(*) from jobs")


@dataclass(frozen=True, slots=True)
class Changed:
    """A warehouse in which a few of many jobs have news: a longer life, a first word, a
    contradiction. Of each publication what it was made of, and where the rows stand in the files.
    """

    warehouse: Path
    dumps: list[Path]
    bases: list[Path | None]
    pieces: list[dict[str, list[tuple[int, frozenset[object]]]]]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Changed:
    folder = tmp_path_factory.mktemp("changed")
    lives = {f"job{number}": life(f"job{number}", 600 + number) for number in range(30)}
    told = {
        "all": chain.from_iterable(lives.values()),
        "longer": life("job3", 9_000),
        "later": life("job3", 200_000),
        "first": [*life("job31", 700), *life("job4", 1)],
        "again": [alive("job3", 4 * 86_400)],
    }
    dumps = [write_dump(folder / f"{name}.jsonl", events) for name, events in told.items()]
    done = Changed(folder / "warehouse", dumps, [], [])
    find_base = publish._base

    def watched(warehouse: Warehouse, publication: int) -> Path | None:
        done.bases.append(find_base(warehouse, publication))
        return done.bases[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_base", watched)
        patch.setattr(publish, "_TIDY_EVERY", 4)
        for dump in dumps:
            ingest(done.warehouse, dump)
            done.pieces.append(written(done.warehouse))
    return done


def test_a_publication_that_was_changed_equals_one_that_was_built_whole(
    changed: Changed, tmp_path: Path
) -> None:
    ingest(tmp_path / "whole", *changed.dumps)

    assert [False, True, True, True, True] == [base is not None for base in changed.bases]
    assert contents(tmp_path / "whole") == contents(changed.warehouse)


def test_a_small_batch_writes_nothing_of_other_jobs_anew_and_now_and_then_gaps_are_closed(
    changed: Changed,
) -> None:
    first, added, added_to, tidy, added_later = [
        {table: [told[0] for told in here] for table, here in piece.items()}
        for piece in changed.pieces
    ]

    def both(*rows: int) -> dict[str, list[int]]:
        return {"attempt_facts_kept": [*rows], "attempts": [*rows]}

    assert both(30) == first
    assert both(30, 1) == added == added_to
    assert both(31) == tidy
    assert both(31, 1) == added_later
    for table in first:
        assert 1 == len({piece[table][0] for piece in changed.pieces[:3]})
        assert changed.pieces[2][table][0] != changed.pieces[3][table][0]


def written(warehouse: Path) -> dict[str, list[tuple[int, frozenset[object]]]]:
    """Of each row group of two tables how many rows stand in the file, and where."""
    groups = {}
    for file, table in (
        (warehouse / "warehouse.duckdb", "attempt_facts_kept"),
        (published(warehouse), "attempts"),
    ):
        with reading(file) as reader:
            groups[table] = [
                (count, frozenset(places))
                for count, places in reader.execute(
                    "select max(count), list((column_name, segment_type, block_id, block_offset)) "
                    f"from pragma_storage_info('{table}') group by row_group_id "
                    "order by row_group_id"
                ).fetchall()
            ]
    return groups


def test_a_base_that_is_gone_or_that_another_release_served_is_not_built_upon(
    grown: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = copy_of(grown["abcde"], tmp_path)
    published(warehouse).unlink()
    ingest_jobs(tmp_path, "f")
    monkeypatch.setattr(model, "fingerprint", lambda: "of another release")
    ingest_jobs(tmp_path, "g")

    assert [(7,)] == rows(warehouse, "select count(*) from jobs")


@pytest.mark.parametrize("copied", [0, 4096])
@pytest.mark.parametrize("refusal", [OSError(errno.EXDEV, "another device"), None])
def test_a_base_is_copied_whole_where_the_system_copies_none_or_a_part_of_it(
    grown: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    refusal: OSError | None,
    copied: int,
) -> None:
    warehouse = copy_of(grown["abcd"], tmp_path)
    copies: list[int] = []

    def copy(source: int, target: int, count: int) -> int:
        copies.append(min(count, copied))
        if refusal is not None and (len(copies) > 1 or not copied):
            raise refusal
        return os.sendfile(target, source, None, copies[-1]) if len(copies) == 1 else 0

    monkeypatch.setattr(os, "copy_file_range", copy)
    ingest_jobs(tmp_path, "e")

    assert copies
    assert "is no base to build on" not in caplog.text
    assert contents(grown["abcde"]) == contents(warehouse)


def test_evidence_that_another_release_told_is_not_built_upon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, real = model.fingerprint(), model.models

    def of_another_release(*layers: str) -> tuple[model.Model, ...]:
        return tuple(
            replace(each, sql=f"{each.sql} limit 1") if "regressions" in each.layer else each
            for each in real(*layers)
        )

    monkeypatch.setattr(model, "models", of_another_release)

    assert ours != model.fingerprint()


def test_a_reader_that_has_a_publication_open_keeps_it(
    grown: dict[str, Path], tmp_path: Path
) -> None:
    warehouse = copy_of(grown["abcd"], tmp_path)
    names = serving(warehouse)
    readers = [duckdb.connect(str(warehouse / name), read_only=True) for name in names]
    ingest_jobs(tmp_path, "e")
    select = "select job_id from jobs order by job_id"
    read = ["".join(chain(*reader.execute(select).fetchall())) for reader in readers]
    for reader in readers:
        reader.close()

    assert names[0] not in serving(warehouse)
    assert ["ab", "abc", "abcd"] == read


@pytest.mark.parametrize("how", ["gone", "no bytes", "no tables"])
def test_what_is_published_is_not_replaced_where_what_it_was_made_of_is_lost(
    grown: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    warehouse = copy_of(grown["abcd"], tmp_path)
    lost = warehouse / "warehouse.duckdb"
    lost.unlink()
    if how == "no bytes":
        lost.touch()
    elif how == "no tables":
        duckdb.connect(str(lost)).close()
    held = lost.read_bytes() if lost.exists() else None
    dump = write_dump(tmp_path / "e.jsonl", life("e"))
    for options in ((), ("--dry-run",)):
        assert 2 == ingest(warehouse, *options, dump)
        told = capsys.readouterr().err
        assert f"{lost} is lost. What is published is still read. Restore a backup" in told

    assert held == (lost.read_bytes() if lost.exists() else None)
    assert [*"abcd"] == [job for (job,) in rows(warehouse, "select job_id from jobs order by 1")]


def test_a_job_that_changes_is_drawn_as_it_is_now_and_the_others_stay(
    told_anew: tuple[Path, list[bool]],
) -> None:
    warehouse, _ = told_anew
    drawn = [
        (job, (ended - started) // 1_000_000)
        for job, _, kind, _, _, _, _, started, ended, _, _ in contents(warehouse)["detail"]
        if kind == "area" and job in ("changes", "stays")
    ]

    assert [("changes", 86_400), ("stays", 600)] == drawn


@pytest.fixture(scope="module")
def merged(grown: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of more than three small files of detail, and of a large one."""
    folder = tmp_path_factory.mktemp("merged")
    warehouse = copy_of(grown["abc"], folder)
    many = [event for number in range(30) for event in life(f"job {number}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detail, "MOST_FILES", 3)
        patch.setattr(detail, "MERGED_AT_ONCE", 3)
        ingest(warehouse, write_dump(folder / "many.jsonl", many))
        ingest_jobs(folder, *"de")
    return warehouse


def test_the_detail_of_many_batches_is_merged_and_stays_whole(merged: Path) -> None:
    [(files,)] = rows(merged, "select count(*) from detail_files")
    jobs = {row[0] for row in contents(merged)["detail"]}

    assert files <= 3
    assert {*"abcde", *(f"job {number}" for number in range(30))} == jobs


def test_readers_are_led_to_the_file_that_others_were_merged_into(merged: Path) -> None:
    assert [] == rows(merged, "from job_details where file not in (select file from detail_files)")
    assert {*"abcde"} < {row[0] for row in contents(merged)["detail"]}


@dataclass(frozen=True, slots=True)
class Lost:
    """A warehouse that grew while the detail of two of its jobs could not be read; of each the
    file, as it was before.
    """

    warehouse: Path
    files: dict[str, str]
    whole: dict[str, bytes]


@pytest.fixture(scope="module")
def lost(grown: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Lost:
    folder = tmp_path_factory.mktemp("lost")
    warehouse = copy_of(grown["ab"], folder)
    files = dict(rows(warehouse, "select job_id, file from job_details"))
    whole = {job: (warehouse / "detail" / name).read_bytes() for job, name in files.items()}
    (warehouse / "detail" / files["a"]).unlink()
    (warehouse / "detail" / files["b"]).write_bytes(whole["b"][:100])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detail, "MOST_FILES", 3)
        patch.setattr(detail, "MERGED_AT_ONCE", 4)
        ingest_jobs(folder, *"cde")
    return Lost(warehouse, files, whole)


@pytest.mark.parametrize("job", ["a", "b"], ids=["lost", "damaged"])
def test_a_detail_file_that_is_lost_or_damaged_keeps_no_dump_out(
    lost: Lost, tmp_path: Path, job: str
) -> None:
    warehouse = copy_of(lost.warehouse, tmp_path)
    held = rows(warehouse, f"select file from job_details where job_id = '{job}'")

    assert {*"abcde"} == {job for (job,) in rows(warehouse, "select job_id from jobs")}
    assert [(lost.files[job],)] == held
    for other, file in lost.files.items():  # both, since all files are read at once
        (warehouse / "detail" / file).write_bytes(lost.whole[other])
    assert {*"abcde"} == {row[0] for row in contents(warehouse)["detail"]}


@pytest.mark.parametrize(
    "current",
    [b"", b"\n", b"../secret.duckdb", b"..", b"serving-9.duckdb", b"\xff", b"x" * 5_000, b"a\0b"],
)
def test_what_current_must_not_name_is_nothing_published(tmp_path: Path, current: bytes) -> None:
    (tmp_path / "secret.duckdb").touch()
    (tmp_path / "warehouse").mkdir()
    (tmp_path / "warehouse" / "CURRENT").write_bytes(current)

    with pytest.raises(NothingPublished, match="Run `ett-ingest PATH --warehouse "):
        published(tmp_path / "warehouse")


def test_what_publishes_is_named_with_the_folder_it_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = []
    for usual, folder in (("", "warehouse"), ("", "a b"), ("warehouse", "warehouse"), ("c", "c")):
        monkeypatch.setenv("ETT_WAREHOUSE", usual)
        with pytest.raises(NothingPublished) as nothing:
            published(folder)
        told.append(str(nothing.value).partition(" Run ")[2])

    assert [
        "`make ingest LOGS=...`.",
        "`ett-ingest PATH --warehouse 'a b'`.",
        "`make ingest LOGS=...`.",
        "`ett-ingest PATH --warehouse c`.",
    ] == told


def test_a_link_that_leads_to_itself_is_a_folder_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")

    assert "`ett-ingest PATH --warehouse loop`" == places.ingest_command(Path("loop"))


def test_no_folder_is_nothing_published(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "gone", tmp_path / "file"):
        with pytest.raises(NothingPublished, match=f"no warehouse is published in {folder}"):
            published(folder)


def test_readers_of_a_backup_are_told_how_it_becomes_a_warehouse(tmp_path: Path) -> None:
    backup = tmp_path / "a backup"
    backup.mkdir()
    (backup / "backup.json").touch()

    with pytest.raises(NothingPublished) as told:  # an ingest would refuse it
        published(backup)

    assert str(told.value).startswith(f"{backup} is a backup (it has a backup.json)")
    assert f"`ett-warehouse restore '{backup}' --warehouse DIR`" in str(told.value)


def test_a_folder_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refused)  # root may read everything

    with pytest.raises(
        NothingPublished, match=f"{tmp_path} cannot be read: Permission denied"
    ) as told:
        published(tmp_path)

    assert "The warehouse cannot be read: Permission denied." == told.value.remedy


def test_dumps_without_a_single_good_line_publish_an_empty_warehouse(tmp_path: Path) -> None:
    (tmp_path / "dump.jsonl").write_text('{"ts": 1, "event": "alive", "job_id": "a"}\n')
    status = ingest(tmp_path / "warehouse", tmp_path / "dump.jsonl")

    assert 2 == status
    assert [("bad_timestamp",)] == rows(tmp_path / "warehouse", "select reason from rejected_lines")
    assert [(0,)] == rows(tmp_path / "warehouse", "select count(*) from attempts")
    assert [] == rows(tmp_path / "warehouse", "from team_day")


def test_a_job_without_an_attempt_publishes(tmp_path: Path) -> None:
    job = {"ts": STARTED_AT, "event": "job", "job_id": "waits", "team": "ads", "gpus": 8}
    status = ingest(tmp_path / "warehouse", write_dump(tmp_path / "dump.jsonl", [job]))

    assert 0 == status
    assert [] == rows(tmp_path / "warehouse", "from attempts")


def test_the_same_models_have_one_fingerprint_in_every_process() -> None:
    """Else each process would build all that another one published anew."""
    script = "from queries import model; print(model.fingerprint(), model.facts_fingerprint())"
    told = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert 1 == len(told)
