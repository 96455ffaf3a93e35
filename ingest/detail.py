"""What the page of one job draws, in immutable Parquet files; each job stands in one of them.

A batch writes the jobs that it touched and nothing else; files that no job is in any more go, and
many small ones become one (docs/adr/0005).
"""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from ingest.warehouse import Warehouse, literally

MOST_FILES = 48
MERGED_AT_ONCE = 32

_COLUMNS = (
    "base_job_no, job_no, attempt, kind, name, category, stage, rank, started_us, ended_us, step, "
    "detail, file_no"
)
# Times are told by their differences, and a column of few values by these: a third less to write
# than with a dictionary begun for each column and given up.
_FORMAT = "format parquet, parquet_version v2, compression snappy, dictionary_size_limit 256"


def folder(warehouse: Path) -> Path:
    """Where the files lie."""
    return warehouse / "detail"


def write(warehouse: Warehouse, part: int) -> None:
    """Write the detail of the jobs that were just computed, one part of the touched ones."""
    connection = warehouse.connection
    name = _name(connection, str(part))
    rows = _copy(warehouse, f"select {_COLUMNS} from detail_rows", name)
    connection.execute(
        "delete from job_details where base_job_no in (select base_job_no from attempt_facts)"
    )
    if rows:
        connection.execute(
            "insert into job_details select distinct base_job_no, ? from attempt_facts", [name]
        )
        # a rebuild that was ended may have listed a file of this name
        connection.execute("delete from detail_files where file = ?", [name])
        connection.execute("insert into detail_files values (?, ?)", [name, rows])


def tidy(warehouse: Warehouse) -> None:
    """Strike off files that hold no job any more, and merge the smallest where there are many."""
    connection = warehouse.connection
    connection.execute("delete from detail_files where file not in (select file from job_details)")
    files = connection.execute("select file from detail_files order by rows, file").fetchall()
    if len(files) > MOST_FILES:
        _merge(warehouse, [file for (file,) in files[:MERGED_AT_ONCE]], "merged")


def forget(warehouse: Warehouse, jobs: str) -> None:
    """Drop the detail of these jobs (a select of their numbers): files that hold others as well
    are written anew without them.
    """
    connection = warehouse.connection
    mixed = connection.execute(
        f"select distinct file from job_details where base_job_no in ({jobs}) intersect "
        f"select file from job_details where base_job_no not in ({jobs}) order by file"
    ).fetchall()
    connection.execute(f"delete from job_details where base_job_no in ({jobs})")
    connection.execute("delete from detail_files where file not in (select file from job_details)")
    for number, (file,) in enumerate(mixed):
        _merge(warehouse, [file], f"kept-{number}")


def _merge(warehouse: Warehouse, listed: list[str], part: str) -> None:
    connection = warehouse.connection
    files = [file for file in listed if _is_whole(warehouse, file)]
    if not files:
        return
    paths = ", ".join(_path(warehouse, file) for file in files)
    name = _name(connection, part)
    rows = _copy(
        warehouse,
        f"select {', '.join('told.' + column.strip() for column in _COLUMNS.split(','))} "
        f"from read_parquet([{paths}], filename = 'path') as told "
        "inner join job_details as held on told.base_job_no = held.base_job_no "
        "and parse_filename(told.path) = held.file",
        name,
    )
    # readers look the moved jobs up in the next publication; soon after, their old files go
    connection.execute(
        "insert into unpublished_jobs select job_id from job_names_kept "
        "where base_job_no in (select base_job_no from job_details "
        "where list_contains(?, file)) and job_id not in (select job_id from unpublished_jobs)",
        [files],
    )
    connection.execute(
        "update job_details set file = $name where list_contains($files, file)",
        {"name": name, "files": files},
    )
    connection.execute("delete from detail_files where list_contains(?, file)", [files])
    connection.execute("insert into detail_files values (?, ?)", [name, rows])


def _is_whole(warehouse: Warehouse, file: str) -> bool:
    """Whether it can be read. What was lost is no reason to take nothing in any more: the jobs in
    it stay led to it, until a rebuild makes it anew.
    """
    try:
        with warehouse.connection.cursor() as beside:  # an error would end the transaction
            beside.execute(
                f"select max(hash(told)) from read_parquet({_path(warehouse, file)}) as told"
            ).fetchall()
    except duckdb.Error:
        return False
    return True


def _name(connection: duckdb.DuckDBPyConnection, part: str) -> str:
    sequence = connection.execute("select publication + 1 from meta").fetchone()
    assert sequence is not None
    return f"{sequence[0]:08d}-{part}.parquet"


def _copy(warehouse: Warehouse, select: str, name: str) -> int:
    target = folder(warehouse.folder)
    target.mkdir(parents=True, exist_ok=True)
    row = warehouse.connection.execute(
        f"copy ({select}) to {_quoted(target / name)} ({_FORMAT})"
    ).fetchone()
    assert row is not None
    with (target / name).open("rb+") as file:  # before the commit that lists it
        os.fsync(file.fileno())
    return int(row[0])


def _path(warehouse: Warehouse, file: str) -> str:
    return literally(folder(warehouse.folder) / file)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
