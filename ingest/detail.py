"""One immutable Parquet file for each day of attempt end, rewritten only when that day changed.

What a page of one job draws is too much to rebuild at each publish (docs/design.md section 2).
"""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import duckdb

from ingest.warehouse import Warehouse, scratch

_COLUMNS = (
    "job_id, attempt, kind, name, stage, rank, started_us, ended_us, step, detail, file, base_job_no"
)
_ORDER = "job_id, attempt, kind, started_us, name, stage, rank, ended_us"


def folder(warehouse: Path) -> Path:
    """Where the files lie."""
    return warehouse / "detail"


def collect(connection: duckdb.DuckDBPyConnection, *, is_first: bool) -> None:
    """Take over the detail of the jobs that were just computed."""
    if is_first:
        connection.execute(
            f"create or replace temp table new_detail as select day, {_COLUMNS} from detail_rows"
        )
    else:
        connection.execute(f"insert into new_detail select day, {_COLUMNS} from detail_rows")


def rewrite(warehouse: Warehouse) -> None:
    """Write anew the file of every day in which a touched job ended, before or after."""
    connection = warehouse.connection
    sequence = connection.execute("select publication + 1 from meta").fetchone()
    assert sequence is not None
    target = folder(warehouse.folder)
    target.mkdir(parents=True, exist_ok=True)
    _merge(connection, target)
    written = _write(warehouse, int(sequence[0]))
    connection.execute("delete from detail_files where day in (select day from changed_days)")
    if written:
        connection.executemany("insert into detail_files values (?, ?)", written)
    connection.execute("drop table new_detail")


def _merge(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """`merged_detail`: the new rows, and the old rows of jobs that were not touched."""
    connection.execute(
        "create or replace temp table changed_days as select distinct day from new_detail "
        "union select day from detail_files where day in (select day from touched_days)"
    )
    old = connection.execute(
        "select file from detail_files where day in (select day from changed_days) order by file"
    ).fetchall()
    if not old:
        connection.execute("create or replace temp view merged_detail as from new_detail")
        return
    paths = ", ".join("'" + str(target / name).replace("'", "''") + "'" for (name,) in old)
    connection.execute(
        "create or replace temp view merged_detail as from new_detail union all "
        f"select files.day, {_COLUMNS} from read_parquet([{paths}], filename = true) as rows "
        "inner join detail_files as files on parse_filename(rows.filename) = files.file "
        "where base_job_no not in (select job_no from touched_jobs)"
    )


def _write(warehouse: Warehouse, sequence: int) -> list[tuple[date, str]]:
    spool = scratch(warehouse.folder) / "detail"
    shutil.rmtree(spool, ignore_errors=True)
    warehouse.connection.execute(
        f"copy (select day, {_COLUMNS} from merged_detail order by day, {_ORDER}) "
        f"to '{str(spool).replace(chr(39), chr(39) * 2)}' "
        "(format parquet, compression zstd, partition_by (day), overwrite_or_ignore)"
    )
    written = []
    for part in sorted(spool.glob("day=*")):
        day = date.fromisoformat(part.name.removeprefix("day="))
        name = f"{day}-{sequence}.parquet"
        pieces = sorted(part.glob("*.parquet"))
        assert len(pieces) == 1, f"one file a day, not {len(pieces)}"
        pieces[0].replace(folder(warehouse.folder) / name)
        written.append((day, name))
    return written
