"""What breaks under an ingest and under its readers: they recover, or say what to run.

After each fault `ett-warehouse check` finds nothing, and the numbers are those of an undisturbed
run. `make faults` runs the random part long.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from app import data
from app.monitoring.follower import Follower, Pace
from ingest import keep
from queries import NothingPublished, published
from tests.faults.processes import Ended
from tests.ingest.warehouses import ROOT, command, contents, differences, fleet, life
from tests.queries.engine import ingest, rows, write_dump

pytestmark = pytest.mark.slow

STANDS = "What was published before still stands"
YEAR = 365 * 86_400


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dumps")
    events = [life("first"), [*life("second", 900), *fleet(71, size=1)]]
    return [write_dump(folder / f"{number}.jsonl", part) for number, part in enumerate(events)]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, dumps: list[Path]) -> Path:
    """A warehouse of the first dump."""
    warehouse = tmp_path_factory.mktemp("first") / "warehouse"
    ingest(warehouse, dumps[0])
    return warehouse


@pytest.fixture(scope="module")
def undisturbed(first: Path, dumps: list[Path]) -> Path:
    """A warehouse of both dumps."""
    warehouse = first.parent / "undisturbed"
    shutil.copytree(first, warehouse)
    ingest(warehouse, dumps[1])
    return warehouse


@pytest.fixture
def warehouse(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(first, tmp_path / "warehouse")
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path / "warehouse"))
    return tmp_path / "warehouse"


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets the file layer of a process fail."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: as root, apt-get install gcc")
    library = tmp_path_factory.mktemp("preload") / "preload.so"
    source = Path(__file__).with_name("preload.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def run(warehouse: Path, dump: Path, **environment: str) -> Ended:
    done = subprocess.run(
        command(warehouse, dump),
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    return Ended(done.returncode, done.stdout + done.stderr, 0)


def is_sound(warehouse: Path) -> bool:
    return keep.main(["check", "--warehouse", str(warehouse)]) == 0


def test_kills_and_full_disks_at_random_points_lose_halve_and_double_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--small", "--kills", "1", "--full", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stderr
    counts = json.loads(done.stdout)
    assert 1 == counts["kills"]
    if os.geteuid() != 0:
        pytest.skip("kills passed; only root can mount a small disk to fill")
    assert 1 == counts["full disks"]


def test_a_file_layer_that_fails_at_any_point_leaves_the_last_publication_standing(
    warehouse: Path, undisturbed: Path, dumps: list[Path], preload: Path
) -> None:
    before = contents(warehouse)
    for call, at in (("fsync", 6), ("rename", 2), ("write", 10)):
        failed = run(
            warehouse,
            dumps[1],
            LD_PRELOAD=str(preload),
            FAULT_IN=str(warehouse),
            FAULT_CALL=call,
            FAULT_AT=str(at),
        )

        assert (2, False) == (failed.status, "Traceback" in failed.said), failed.said
        assert STANDS in failed.said or "cannot be opened for writing" in failed.said
        assert before == contents(warehouse)

    assert 0 == run(warehouse, dumps[1]).status
    assert {} == differences(undisturbed, warehouse)
    assert is_sound(warehouse)


def test_a_disk_that_fills_under_a_check_is_no_finding(warehouse: Path, preload: Path) -> None:
    failed = keeping(
        "check",
        warehouse,
        LD_PRELOAD=str(preload),
        FAULT_IN=str(warehouse / "tmp" / "check.duckdb"),
        FAULT_CALL="write",
        FAULT_AT="4",
    )

    assert 2 == failed.status, failed.said
    assert "What was published before still stands. Mend that (space, permissions)" in failed.said
    assert "Run `ett-warehouse rebuild" not in failed.said
    assert 0 == keeping("check", warehouse).status


@pytest.mark.parametrize("seconds", [10 * YEAR, -7200])
def test_a_clock_that_jumps_changes_no_number(
    warehouse: Path, undisturbed: Path, dumps: list[Path], preload: Path, seconds: int
) -> None:
    told = "select epoch(published_at) from publication"
    [(before,)] = rows(warehouse, told)
    done = run(warehouse, dumps[1], LD_PRELOAD=str(preload), FAULT_CLOCK=str(seconds))
    [(after,)] = rows(warehouse, told)

    assert (0, seconds > 0) == (done.status, after > before), done.said
    assert {} == differences(undisturbed, warehouse)


def test_two_ingests_at_once_take_turns(
    first: Path, undisturbed: Path, dumps: list[Path], tmp_path: Path
) -> None:
    place = tmp_path / "warehouse"
    started = [
        subprocess.Popen(
            command(place, dump), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for dump in dumps
    ]
    said = [process.communicate()[0] for process in started]

    assert [0, 0] == [process.returncode for process in started], said
    assert {} == differences(undisturbed, place)


def test_a_warehouse_that_may_not_be_written_is_read_on(
    warehouse: Path, dumps: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with read_only(warehouse):
        failed = run(warehouse, dumps[1])
        checked = keep.main(["check", "--warehouse", str(warehouse)])

        assert (2, False) == (failed.status, "Traceback" in failed.said)
        next_step = "Let it be written, or give --warehouse another folder."
        assert next_step in failed.said
        assert (2, True) == (checked, next_step in capsys.readouterr().err)
        assert 1 == data.row("select count(*) as jobs from jobs")["jobs"]
    assert 0 == run(warehouse, dumps[1]).status


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)  # root may write anything else
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def exporter(warehouse: Path) -> Iterator[Follower]:
    follower = Follower(warehouse, "test", Pace(patience=20, interval=0.05, retry=0.05))
    follower.start()
    follower.snapshot()
    yield follower
    follower.stop()


def test_what_current_names_may_vanish_or_break_under_the_readers(
    warehouse: Path, dumps: list[Path], exporter: Follower
) -> None:
    serving = published(warehouse)
    (warehouse / "CURRENT").write_bytes(b"\xff\xfe")
    with pytest.raises(NothingPublished, match="Run `ett-ingest PATH"):
        data.published()
    run(warehouse, dumps[0])  # nothing new, and still it mends what readers need
    mended = published(warehouse)
    whole = exporter.snapshot()
    mended.write_bytes(b"no longer what was written" * 100)
    with pytest.raises(data.ViewFailed, match="`ett-warehouse check` says what to do"):
        data.frame("select count(*) from jobs")
    stale = exporter.snapshot()
    run(warehouse, dumps[0])

    assert serving != mended
    assert mended != published(warehouse)
    assert 1 == data.row("select count(*) as jobs from jobs")["jobs"]
    assert ("", "") == (whole.problem, exporter.snapshot().problem)
    assert whole.answered == stale.answered  # what was read last, marked as not the newest
    assert whole.gauges != stale.gauges
    assert 0 == keeping("check", warehouse).status


def test_an_earlier_publication_that_breaks_holds_no_ingest_up(
    warehouse: Path, undisturbed: Path, dumps: list[Path]
) -> None:
    shutil.copyfile(published(warehouse), warehouse / "serving-0.duckdb")
    (warehouse / "serving-0.duckdb").write_bytes(b"damaged")

    assert 0 == ingest(warehouse, dumps[1])
    assert {} == differences(undisturbed, warehouse)


def test_detail_that_is_gone_or_damaged_is_told_and_made_anew(warehouse: Path, first: Path) -> None:
    [path] = (warehouse / "detail").iterdir()
    for break_it in (path.unlink, lambda: path.write_bytes(b"damaged")):
        break_it()
        with pytest.raises(data.ViewFailed, match="`ett-warehouse check` says what to do"):
            data.detail("first")
    checked = keeping("check", warehouse)

    assert (1, True) == (checked.status, f"{path} cannot be read" in checked.said)
    assert 0 == keeping("rebuild", warehouse).status
    assert {} == differences(first, warehouse)
    assert not data.detail("first").is_empty()


def test_blocks_of_what_is_published_that_break_are_told_and_made_anew(
    warehouse: Path, undisturbed: Path, dumps: list[Path]
) -> None:
    scribble(published(warehouse))
    with pytest.raises(data.ViewFailed, match="`ett-warehouse check` says what to do"):
        data.frame("select count(*) from jobs")
    checked = keeping("check", warehouse)

    assert (1, True) == (
        checked.status,
        f"Run `ett-warehouse rebuild --warehouse {warehouse}`." in checked.said,
    )
    assert 0 == run(warehouse, dumps[1]).status
    assert {} == differences(undisturbed, warehouse)
    assert 0 == keeping("check", warehouse).status


def test_blocks_of_the_warehouse_that_break_are_told_with_what_to_do(
    warehouse: Path, first: Path, dumps: list[Path], tmp_path: Path
) -> None:
    file, copy = warehouse / "warehouse.duckdb", tmp_path / "copy"
    assert 0 == keeping("backup", warehouse, tmp_path / "whole").status
    with duckdb.connect(str(file), read_only=True) as connection:
        [(block,)] = connection.execute(
            "select max(block_id) from pragma_storage_info('told_events')"
        ).fetchall()
    scribble(file, block)
    said = [
        keeping("rebuild", warehouse),
        keeping("backup", warehouse, copy),
        run(warehouse, dumps[1]),
    ]

    assert [2, 2, 2] == [one.status for one in said]
    for one in said:
        assert f"{file} is damaged: Corrupt database file: " in one.said
        assert f"`ett-warehouse restore DIR --warehouse {warehouse}`" in one.said
    assert not copy.exists()
    assert 0 == keeping("restore", warehouse, tmp_path / "whole").status
    assert {} == differences(first, warehouse)


def scribble(path: Path, block: int | None = None) -> None:
    """Change bytes in a block of a DuckDB file, or in all of them."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        places = range(12288 + 100, size, 262_144)
        for place in places if block is None else [places[block]]:
            file.seek(place)
            file.write(bytes(byte ^ 0xFF for byte in os.pread(file.fileno(), 8, place)))


def keeping(name: str, warehouse: Path, *arguments: Path, **environment: str) -> Ended:
    """`ett-warehouse` in a process of its own: this one has the published file open as a page."""
    script = Path(sys.executable).with_name("ett-warehouse")
    done = subprocess.run(
        [script, name, *arguments, "--warehouse", warehouse],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    return Ended(done.returncode, done.stdout + done.stderr, 0)
