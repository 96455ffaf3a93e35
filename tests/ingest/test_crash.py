"""A process that dies in the middle of an ingest leaves every batch wholly there or wholly not."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from queries import NothingPublished, published
from tests.ingest.forked import eager_ingest
from tests.ingest.warehouses import ROOT, command, contents, differences, fleet, life
from tests.oracle.fleets import Fields
from tests.queries.engine import ingest, reading, rows, write_dump

KILLS = 16  # in rounds of at most eight; `make faults` kills hundreds of times


def parts(events: list[Fields], count: int) -> list[list[Fields]]:
    return [events[number::count] for number in range(count)]


def opens(warehouse: Path) -> bool:
    """Whether what CURRENT names, if anything, can be read to its end."""
    try:
        path = published(warehouse)
    except NothingPublished:
        return not (warehouse / "CURRENT").exists()
    with reading(path) as reader:
        listed = [name for (name,) in reader.execute("select file from detail_files").fetchall()]
        reader.execute("select sum(wall_us) from identity_by_day").fetchall()
    return all((warehouse / "detail" / name).is_file() for name in listed)


@pytest.mark.slow
def test_kills_at_any_moment_lose_halve_and_double_nothing(tmp_path: Path) -> None:
    chance = random.Random(1)
    events = fleet(51, size=8)
    dumps = [
        write_dump(tmp_path / f"{number}.jsonl", part)
        for number, part in enumerate(parts(events, 4))
    ]
    undisturbed = tmp_path / "undisturbed"
    said = tmp_path / "said"
    began = time.monotonic()
    alone = eager_ingest(said, undisturbed, *dumps)
    alone.join()
    whole = time.monotonic() - began

    assert 0 == alone.exitcode, said.read_text(encoding="utf-8")

    kills = round_ = 0
    while kills < KILLS:
        round_ += 1
        warehouse = tmp_path / f"killed-{round_}"
        for _ in range(min(8, KILLS - kills)):
            started = eager_ingest(said, warehouse, *dumps)
            time.sleep(chance.uniform(0, whole / 4))
            started.kill()
            started.join()
            kills += 1

            assert opens(warehouse)

        finished = eager_ingest(said, warehouse, *dumps)
        finished.join()

        # on a slow machine it says how far it has got
        told = [
            line
            for line in said.read_text(encoding="utf-8").splitlines()
            if not line.startswith("INFO")
        ]

        assert (0, []) == (finished.exitcode, told)
        assert {} == differences(undisturbed, warehouse)
        assert rows(undisturbed, "select sum(events) from ingested_files") == rows(
            warehouse, "select sum(events) from ingested_files"
        )

        # what a death left behind goes with the next publication
        ingest(warehouse, write_dump(tmp_path / "next.jsonl", life("next")))

        assert [] == leftovers(warehouse)


def leftovers(warehouse: Path) -> list[str]:
    """Files that no publication needs."""
    listed: set[str] = set()
    for path in warehouse.glob("serving-*.duckdb"):
        with reading(path) as reader:
            found = reader.execute("select file from detail_files").fetchall()
        listed |= {name for (name,) in found}
    detail = {path.name for path in (warehouse / "detail").iterdir()}
    return sorted([*(detail - listed), *(path.name for path in warehouse.glob("*.building*"))])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dump of one job, and the warehouse of it."""
    folder = tmp_path_factory.mktemp("first")
    ingest(folder / "warehouse", write_dump(folder / "dump.jsonl", life("a")))
    return folder


@pytest.mark.parametrize("kilobytes", [16, 300, 1_500])
def test_a_file_that_may_not_grow_leaves_the_last_publication_standing(
    first: Path, tmp_path: Path, kilobytes: int
) -> None:
    warehouse = shutil.copytree(first / "warehouse", tmp_path / "warehouse")
    before = contents(warehouse), published(warehouse)
    more = write_dump(tmp_path / "more.jsonl", [*life("b"), *fleet(52)])

    def limit() -> None:
        size = kilobytes * 1024
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        )

    failed = subprocess.run(
        command(warehouse, more), cwd=ROOT, capture_output=True, text=True, preexec_fn=limit
    )
    after = contents(warehouse), published(warehouse)
    again = ingest(warehouse, more)

    assert 2 == failed.returncode
    assert "Traceback" not in failed.stderr
    assert "What was published before still stands" in failed.stderr or "cannot be" in failed.stderr
    assert before == after
    assert 0 == again
    assert [("b", 600.0)] == rows(
        warehouse, "select job_id, wall_seconds from jobs where job_id = 'b'"
    )
    assert [] == leftovers(warehouse)


def test_a_commit_without_its_publication_is_published_by_the_next_ingest(
    first: Path, tmp_path: Path
) -> None:
    warehouse = shutil.copytree(first / "warehouse", tmp_path / "warehouse")
    (warehouse / "CURRENT").unlink()
    status = ingest(warehouse, first / "dump.jsonl")

    assert 0 == status
    assert [("a",)] == rows(warehouse, "select job_id from jobs")


def test_a_lock_that_a_dead_process_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    (warehouse / "ingest.lock").write_text('{"pid": 1, "host": "gone", "since": "00:00:00 UTC"}')
    (warehouse / "tmp" / "in").mkdir(parents=True)
    (warehouse / "tmp" / "in" / "in-1").symlink_to("nowhere")
    os.symlink("nowhere", warehouse / "tmp" / "in" / "mended-1")

    assert 0 == ingest(warehouse, write_dump(tmp_path / "dump.jsonl", life("a")))
