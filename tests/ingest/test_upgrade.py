"""A warehouse of an older release gives this release's numbers; one of a newer is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import zstandard

from app import warehouse as reading
from ingest import keep, migrations
from ingest import warehouse as writing
from ingest.errors import WarehouseUnusable
from queries import SCHEMA_VERSION, PublishedByNewerRelease, published
from tests.ingest.warehouses import ROOT, differences, kept, life, run
from tests.queries.engine import ingest, rows, write_dump

OLD = Path(__file__).parent / "old_warehouses"
SACCT = ROOT / "sample_data" / "dumps" / "slurm" / "snap2_quiet" / "sacct_D_P_admin.txt"


def old_warehouse(folder: Path, schema: int) -> Path:
    """What was loaded stays as it was read then, but for what this release reads otherwise: a table
    of Slurm says 127 of a program that ended with 255, too.
    """
    folder.mkdir()
    packed = (OLD / f"schema-{schema}.duckdb.zst").read_bytes()
    (folder / "warehouse.duckdb").write_bytes(zstandard.ZstdDecompressor().decompress(packed))
    if (detail := OLD / f"schema-{schema}-detail").is_dir():
        shutil.copytree(detail, folder / "detail")
    with duckdb.connect(str(folder / "warehouse.duckdb")) as writer:
        writer.execute("update told_events set exit_code = null where exit_code = 127")
    return folder


def tables(warehouse: Path) -> list[tuple[object, ...]]:
    return kept(
        warehouse,
        "select table_name, column_name, data_type, is_nullable from duckdb_columns() "
        "where not internal order by table_name, column_name",
    )


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What this release makes of the dumps that the old warehouses were made of."""
    folder = tmp_path_factory.mktemp("fresh") / "warehouse"
    ingest(folder, OLD / "events.jsonl.gz", SACCT)
    return folder


@pytest.mark.parametrize("schema", [1, 2, 3, 4, 5])
def test_a_warehouse_of_an_older_release_gives_the_numbers_of_this_one(
    tmp_path: Path, fresh: Path, schema: int
) -> None:
    warehouse = old_warehouse(tmp_path / "warehouse", schema)
    told_again = run(warehouse, OLD / "events.jsonl.gz")

    assert (0, "") == (told_again.status, told_again.err)
    assert {} == differences(fresh, warehouse)
    assert [(1_465, 1)] == rows(warehouse, "select events, rejected from publication")
    assert rows(fresh, "select template, count from unmatched_messages order by all") == rows(
        warehouse, "select template, count from unmatched_messages order by all"
    )
    assert tables(fresh) == tables(warehouse)


def test_a_warehouse_that_lists_detail_by_day_gives_the_numbers_of_this_one(
    tmp_path: Path, fresh: Path
) -> None:
    warehouse = old_warehouse(tmp_path / "warehouse", 1)
    with duckdb.connect(str(warehouse / "warehouse.duckdb")) as writer:
        writer.execute("drop table job_details; drop table detail_files")
        writer.execute("create table detail_files (day date not null, file varchar not null)")
        writer.execute("insert into detail_files values ('2026-03-01', '2026-03-01-1.parquet')")

    assert 0 == ingest(warehouse, OLD / "events.jsonl.gz")
    assert {} == differences(fresh, warehouse)
    assert tables(fresh) == tables(warehouse)


def test_what_an_older_release_published_stands_until_the_upgrade_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warehouse = old_warehouse(tmp_path / "warehouse", 1)
    before = (warehouse / "warehouse.duckdb").read_bytes()
    monkeypatch.setattr(migrations, "_STEPS", tmp_path)  # no step is there: it fails half way

    with (
        pytest.raises(WarehouseUnusable, match=r"could not be brought to \d+.*It is as it was"),
        writing.opened(warehouse, print, 0),
    ):
        pass

    assert before == (warehouse / "warehouse.duckdb").read_bytes()
    assert [] == list(warehouse.glob("*.upgrading*"))


@pytest.mark.parametrize("command", ["ingest", "prune", "check"])
def test_what_changes_nothing_leaves_a_warehouse_of_an_older_release_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    warehouse = old_warehouse(tmp_path / "warehouse", 2)
    before = (warehouse / "warehouse.duckdb").read_bytes()
    if command == "ingest":
        status = ingest(warehouse, "--dry-run", OLD / "events.jsonl.gz")
    elif command == "prune":
        arguments = ["--dry-run", "--before", "2026-03-01", "--warehouse", str(warehouse)]
        status = keep.main(["prune", *arguments])
    else:
        status = keep.main(["check", "--warehouse", str(warehouse)])

    assert 2 == status
    assert (
        f"{warehouse / 'warehouse.duckdb'} was written by an older release: its schema is 2, this "
        f"release has {SCHEMA_VERSION}. A check or a dry run changes nothing, and so cannot read "
        f"it: run `ett-warehouse rebuild --warehouse {warehouse}` first, which brings it to this "
        "release."
    ) in capsys.readouterr().err
    assert before == (warehouse / "warehouse.duckdb").read_bytes()


def test_check_says_of_facts_of_another_release_that_they_are_until_they_are_computed_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = old_warehouse(tmp_path / "warehouse", 2)
    migrations.upgrade(warehouse / "warehouse.duckdb", 2)  # as one that was killed then leaves it

    assert 1 == keep.main(["check", "--warehouse", str(warehouse)])
    said = capsys.readouterr().out
    assert (
        "the facts were computed by another release. Run `ett-warehouse rebuild --warehouse "
        f"{warehouse}`.\n"
    ) in said
    assert 0 == keep.main(["rebuild", "--warehouse", str(warehouse)])
    assert 0 == keep.main(["check", "--warehouse", str(warehouse)])


def test_a_warehouse_of_a_newer_release_is_refused_with_a_sentence(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    ingest(warehouse, dump)
    with duckdb.connect(str(warehouse / "warehouse.duckdb")) as writer:
        writer.execute("update meta set schema_version = 99")
    before = published(warehouse)
    refused = run(warehouse, dump)

    assert (2, "") == (refused.status, refused.out)
    assert (
        f"ett-ingest: {warehouse / 'warehouse.duckdb'} was written by a newer release: its schema "
        f"is 99, this release knows {SCHEMA_VERSION}. Update this installation, or give "
        "--warehouse another folder.\n"
    ) == refused.err
    assert before == published(warehouse)


def test_what_a_newer_release_published_is_refused_by_both_faces(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    ingest(warehouse, write_dump(tmp_path / "dump.jsonl", life("a")))
    with duckdb.connect(str(published(warehouse))) as writer:
        writer.execute("update publication set schema_version = 99")

    with pytest.raises(PublishedByNewerRelease, match="published by a newer release: its schema"):
        reading.connect(published(warehouse))
    for face in ("app.dashboard", "app.monitoring.exporter"):
        refused = subprocess.run(
            [sys.executable, "-m", face, "--warehouse", warehouse],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )

        assert (2, "") == (refused.returncode, refused.stdout)
        assert "was published by a newer release" in refused.stderr
