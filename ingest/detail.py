"""One immutable Parquet file for each day of attempt end, rewritten only when that day changed.

What a page of one job draws is too much to rebuild at each publish (docs/design.md section 2).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from ingest.warehouse import Warehouse, scratch

_COLUMNS = (
    "job_id, attempt, kind, name, stage, rank, started_us, ended_us, step, detail, file_no, "
    "base_job_no"
)


def folder(warehouse: Path) -> Path:
    """Where the files lie."""
    return warehouse / "detail"


def collect(warehouse: Warehouse, part: int) -> None:
    """Write aside the detail of the jobs that were just computed, a file a day."""
    if part == 0:
        shutil.rmtree(_spool(warehouse), ignore_errors=True)
        _spool(warehouse).mkdir(parents=True)
    _copy(warehouse, f"select day, {_COLUMNS} from detail_rows", _spool(warehouse) / f"part-{part}")


def rewrite(warehouse: Warehouse) -> None:
    """Make the file of every day in which a touched job ended, before or after, anew."""
    connection = warehouse.connection
    folder(warehouse.folder).mkdir(parents=True, exist_ok=True)
    fresh = _pieces(_spool(warehouse))
    old: dict[date, str] = dict(
        connection.execute(
            "select day, file from detail_files where day in (select day from touched_days)"
        ).fetchall()
    )
    mixed = {day for day in {*fresh, *old} if day in old or len(fresh[day]) > 1}
    ready = {day: pieces[0] for day, pieces in fresh.items() if day not in mixed}
    ready |= _merged(warehouse, mixed, fresh, old)
    sequence = connection.execute("select publication + 1 from meta").fetchone()
    assert sequence is not None
    written = []
    for day, path in sorted(ready.items()):
        name = f"{day}-{sequence[0]}.parquet"
        path.replace(folder(warehouse.folder) / name)
        written.append((day, name))
    connection.execute(
        "delete from detail_files where list_contains($days, day)", {"days": [*ready, *old]}
    )
    if written:
        days, names = zip(*written, strict=True)
        connection.execute("insert into detail_files select unnest(?), unnest(?)", [days, names])


def _merged(
    warehouse: Warehouse, days: set[date], fresh: dict[date, list[Path]], old: dict[date, str]
) -> dict[date, Path]:
    """New rows and the old rows of jobs that were not touched, for the days that have both."""
    sources = []
    if pieces := [path for day in days for path in fresh.get(day, [])]:
        sources.append(
            f"select day, {_COLUMNS} from read_parquet({_listed(pieces)}, "
            "hive_partitioning = true, hive_types = {'day': date})"
        )
    if kept := [folder(warehouse.folder) / old[day] for day in days if day in old]:
        sources.append(
            f"select known.day, {_COLUMNS} "
            f"from read_parquet({_listed(kept)}, filename = 'written_as') "
            "inner join (select day, file as known_as from detail_files) as known "
            "on parse_filename(written_as) = known.known_as "
            "where base_job_no not in (select job_no from touched_jobs)"
        )
    if not sources:
        return {}
    target = _spool(warehouse) / "merged"
    _copy(warehouse, " union all ".join(sources), target)
    return {day: paths[0] for day, paths in _pieces(target.parent, "merged").items()}


def _pieces(spool: Path, part: str = "part-*") -> dict[date, list[Path]]:
    found: dict[date, list[Path]] = {}
    for path in sorted(spool.glob(f"{part}/day=*/*.parquet")):
        day = date.fromisoformat(path.parent.name.removeprefix("day="))
        found.setdefault(day, []).append(path)
    return found


def _copy(warehouse: Warehouse, select: str, target: Path) -> None:
    warehouse.connection.execute(
        f"copy ({select}) to {_quoted(target)} "
        "(format parquet, compression snappy, partition_by (day))"
    )


def _listed(paths: Iterable[Path]) -> str:
    return "[" + ", ".join(_quoted(path) for path in paths) + "]"


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _spool(warehouse: Warehouse) -> Path:
    return scratch(warehouse.folder) / "detail"
