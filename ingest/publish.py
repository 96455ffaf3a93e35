"""The file that readers open: built aside, synced, renamed, and named by CURRENT in one step.

Holds facts and rollups only; a reader never sees a half state, and never waits for a writer.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb

from ingest import calendar, detail
from ingest.migrations import remove
from ingest.settings import Settings, like_pattern
from ingest.warehouse import Warehouse
from queries import model, regression_tables
from queries.damage import is_damage

KEPT_PUBLICATIONS = 3
_WHOLE_EVERY = 64
_TIDY_EVERY = 16
_LONG_LOG_BYTES = 1024 * 1024

# what DuckDB says of a file that is gone, of other tables, or in the middle of a damaged one
_UNREADABLE = (
    duckdb.IOException,
    duckdb.CatalogException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.SerializationException,
)
_LOG = logging.getLogger("ingest")
_SERVING = re.compile(r"serving-(\d+)\.duckdb")


def is_published(warehouse: Warehouse) -> bool:
    """Whether readers already see the newest commit. Before the first commit there is none."""
    row = warehouse.connection.execute("select publication from meta").fetchone()
    assert row is not None
    if row == (0,):
        return True
    try:
        current = (warehouse.folder / "CURRENT").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return False
    return current == _name(int(row[0])) and _opens(warehouse.folder / current)


def publish(warehouse: Warehouse, settings: Settings, now: datetime) -> Path:
    """Build the serving file of the newest commit and let CURRENT name it. Returns its path.

    A failure at any point leaves the last publication standing.
    """
    connection = warehouse.connection
    publication = _take_free_number(warehouse)
    path = warehouse.folder / _name(publication)
    building = path.with_suffix(".building")
    base = _base(warehouse, publication)
    _let_tidy(connection, must=base is None or publication % _TIDY_EVERY == 0)
    if base is not None:
        try:
            remove(building)
            _copy(base, building)
            _choose(connection, is_whole=False)
            _build(warehouse, building, settings, now)
        except duckdb.Error as error:
            if not _is_unreadable(error):
                raise
            # nobody can build on a file that was damaged; if that is not why, it shows below
            _LOG.warning("%s is no base to build on (%s): building anew", base, error)
            base = None
    if base is None:
        build_whole(warehouse, building, settings, now)
    _sync(building)
    building.replace(path)
    _point(warehouse.folder, path.name)
    _note_published(connection, publication)
    _prune(warehouse)
    return path


def build_whole(warehouse: Warehouse, path: Path, settings: Settings, now: datetime) -> None:
    """Write what readers would see of the newest commit into a new file, and publish nothing."""
    remove(path)
    _choose(warehouse.connection, is_whole=True)
    _build(warehouse, path, settings, now)


def say_idle_settings(warehouse: Warehouse, settings: Settings) -> None:
    """Warn of targets and exclusions that hold for nobody: a misspelt team would be held to the
    fleet's target, and a misspelt partition counts.
    """
    connection = warehouse.connection
    unknown = settings.targets.keys() - {"fleet"}
    if unknown:
        rows = connection.execute("select distinct team from team_day_sums_kept").fetchall()
        unknown -= {team for (team,) in rows}
    if unknown:
        _LOG.warning(
            "[targets] of ett.toml holds for nobody where it says %s: no job says that it is of "
            "such a team. What is misspelt is held to the fleet's target: write teams as jobs do",
            ", ".join(map(repr, sorted(unknown))),
        )
    for column, name, patterns in (
        ("partition_name", "partitions", settings.excluded_partitions),
        ("job_name", "names", settings.excluded_names),
    ):
        idle = [each for each in patterns if not _matches_a_job(connection, column, each)]
        if idle:
            _LOG.warning(
                "[exclude] of ett.toml excludes nothing where its %s say %s: no job has such a one",
                name,
                ", ".join(map(repr, idle)),
            )


def _matches_a_job(connection: duckdb.DuckDBPyConnection, column: str, pattern: str) -> bool:
    matching = f"select 1 from attempt_facts_kept where {column} like ? escape '\\' limit 1"
    return connection.execute(matching, [like_pattern(pattern)]).fetchone() is not None


def listed_detail(path: Path) -> set[str]:
    """The detail files that a published file leads to."""
    with duckdb.connect(str(path), read_only=True) as reader:
        return {file for (file,) in reader.execute("select file from detail_files").fetchall()}


def _opens(path: Path) -> bool:
    try:
        listed_detail(path)
    except duckdb.Error as error:
        if not _is_unreadable(error):
            raise
        return False
    return True


def _is_unreadable(error: duckdb.Error) -> bool:
    return isinstance(error, _UNREADABLE) or is_damage(error)


def _take_free_number(warehouse: Warehouse) -> int:
    """The number of the newest commit, or a later one: a name that was published never changes."""
    row = warehouse.connection.execute("select publication from meta").fetchone()
    assert row is not None
    number = int(row[0])
    while (warehouse.folder / _name(number)).exists():
        number += 1
    if number > row[0]:
        warehouse.connection.execute("update meta set publication = ?", [number])
    return number


def _name(sequence: int) -> str:
    return f"serving-{sequence}.duckdb"


def _number(name: str) -> int:
    match = _SERVING.fullmatch(name)
    assert match is not None
    return int(match[1])


def _base(warehouse: Warehouse, publication: int) -> Path | None:
    """The earlier publication that this one can be changed from, so that it costs what changed.

    Now and then none: what is deleted leaves gaps, and a file built whole has none.
    """
    row = warehouse.connection.execute("select published, published_models from meta").fetchone()
    assert row is not None
    if row[0] is None or row[1] != model.fingerprint() or publication % _WHOLE_EVERY == 0:
        return None
    base = warehouse.folder / _name(int(row[0]))
    return base if base.is_file() else None


def _copy(base: Path, building: Path) -> None:
    """Copy a file. Where the file system can (XFS, Btrfs) both share what stays the same in them:
    then a publication costs what changed on disk too.
    """
    with base.open("rb") as read, building.open("wb") as written:
        left = os.fstat(read.fileno()).st_size
        with suppress(OSError, AttributeError):  # not every system and file system has it
            while left and (copied := os.copy_file_range(read.fileno(), written.fileno(), left)):
                left -= copied
    if left:
        shutil.copyfile(base, building)


def _let_tidy(connection: duckdb.DuckDBPyConnection, *, must: bool) -> None:
    """Let checkpoints close the gaps of what was deleted and join what was added in pieces, or not.

    For a small piece the engine writes the large ones beside it anew, every column of them: most
    of the time of a checkpoint, and not by what changed but by what is there.
    """
    connection.execute("reset max_vacuum_tasks" if must else "set max_vacuum_tasks = 0")


def _choose(connection: duckdb.DuckDBPyConnection, *, is_whole: bool) -> None:
    """Lay out what is published: everything, or the jobs and days that changed since the base."""
    connection.execute(
        "create or replace temp table publishing_jobs as select job_id from unpublished_jobs"
    )
    days = (
        "select distinct day from team_day_sums_kept"
        if is_whole
        else "select day from unpublished_days"
    )
    connection.execute(f"create or replace temp table publishing_days as {days}")
    where = "" if is_whole else " where job_id in (select job_id from unpublished_jobs)"
    connection.execute(
        "create or replace temp table publishing_names as "
        f"select job_no, base_job_no, job_id from job_names_kept{where}"
    )


def _note_published(connection: duckdb.DuckDBPyConnection, publication: int) -> None:
    """From now on changes are noted against this publication. Until then they add up."""
    connection.execute("begin")
    connection.execute(
        "update meta set published = ?, published_models = ?", [publication, model.fingerprint()]
    )
    connection.execute("delete from unpublished_jobs")
    connection.execute("delete from unpublished_days")
    connection.execute("commit")


def _build(warehouse: Warehouse, path: Path, settings: Settings, now: datetime) -> None:
    connection = warehouse.connection
    _lay_out_days(connection, settings)
    model.load_attributions(connection, settings.failure_rules.attributions)
    quoted = str(path).replace("'", "''")
    # nobody opens the file before it is whole: a log would be written, and synced, for nothing
    connection.execute(f"attach '{quoted}' as serving (recovery_mode no_wal_writes)")
    try:
        _describe(connection, settings, now)
        failure = _fill(warehouse, settings)
        connection.execute("checkpoint serving")  # a detach would hide that it could not
    finally:
        connection.execute("use warehouse")
        connection.execute("detach serving")
    if failure is not None:
        _LOG.warning(
            "%s. Everything else is published, and the next ingest that changes anything tries "
            "again: please report this line.",
            failure,
        )


def _fill(warehouse: Warehouse, settings: Settings) -> str | None:
    """Fill `serving`; what got worse is looked for meanwhile. Returns why that is not known."""
    with warehouse.connection.cursor() as beside, ThreadPoolExecutor(max_workers=1) as pool:
        found = pool.submit(_look_for_regressions, beside, settings)
        try:
            model.serve(warehouse.connection)
            _take_log_in(warehouse)
            return found.result()
        except BaseException:
            # the pool waits for it: each of its queries is ended, whatever it is at now
            while not found.done():
                beside.interrupt()
                wait([found], timeout=0.05)
            raise


def _take_log_in(warehouse: Warehouse) -> None:
    """Bring a long log into the warehouse's file: who closes that file would have to wait for it.
    A short one is left to who closes, so that all tables are gone through once.
    """
    log = warehouse.folder / "warehouse.duckdb.wal"
    if not log.exists() or log.stat().st_size < _LONG_LOG_BYTES:
        return
    # where it fails the log says it all, and the next one tries again
    with suppress(duckdb.TransactionException, duckdb.IOException):
        warehouse.connection.execute("checkpoint warehouse")


def _look_for_regressions(connection: duckdb.DuckDBPyConnection, settings: Settings) -> str | None:
    connection.execute("set TimeZone = 'UTC'")
    _lay_out_days(connection, settings)
    return regression_tables.serve(connection, settings.detection)


def _lay_out_days(connection: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    # up to the clocks: days on which nothing ran are days too
    bounds = connection.execute(
        "select epoch_us(min(day)::timestamp), greatest("
        "epoch_us(max(day)::timestamp), (select max(clock_us) from sources)) "
        "from team_day_sums_kept"
    ).fetchone()
    first_us, last_us = bounds if bounds and bounds[0] is not None else (0, 0)
    calendar.lay_out(connection, int(first_us), int(last_us), settings.timezone)


def _describe(connection: duckdb.DuckDBPyConnection, settings: Settings, now: datetime) -> None:
    connection.execute(
        "create or replace temp table publishing as select ?::timestamp as published_at, "
        "?::varchar as time_zone, ?::double as stale_after_seconds",
        [now, settings.timezone, settings.stale_after.total_seconds()],
    )
    # a dump's source as readers know it: with its cluster, where that has a clock of its own
    connection.execute(
        "create or replace temp table publishing_files as select files.file_no, "
        "concat_ws('@', sources.source, parted.together) as source "
        "from files inner join sources on files.source_no = sources.source_no "
        "left join cluster_clocks as parted on files.source_no = parted.source_no "
        "and files.clusters[1] = parted.cluster"
    )
    connection.execute(
        "create or replace temp table publishing_targets (team varchar, ett_ratio double)"
    )
    connection.execute(
        "create or replace temp table publishing_prices as "
        "select ?::double as gpu_hour_price, ?::varchar as currency",
        [settings.gpu_hour_price, settings.currency],
    )
    connection.executemany(
        "insert into publishing_targets values (?, ?)", list(settings.targets.items())
    )


def _prune(warehouse: Warehouse) -> None:
    """Keep the newest publications, and the detail files that any of them lists.

    Numbers after the current one are left from a warehouse file that is gone: they are the oldest.
    """
    folder = warehouse.folder
    current = (folder / "CURRENT").read_text(encoding="utf-8").strip()
    numbered = sorted(
        (int(match[1]), path)
        for path in folder.glob("serving-*.duckdb")
        if (match := _SERVING.fullmatch(path.name))
    )
    numbered.sort(key=lambda one: one[0] <= _number(current))
    for _, path in numbered[:-KEPT_PUBLICATIONS]:
        remove(path)
    for leftover in folder.glob("serving-*.building*"):
        remove(leftover)
    *older, _ = [path for _, path in numbered[-KEPT_PUBLICATIONS:]]
    _prune_detail(warehouse, older)


def _prune_detail(warehouse: Warehouse, older: Sequence[Path]) -> None:
    """Remove what neither the warehouse lists, which was just published, nor an older publication.

    These are opened only for a file that the warehouse does not list: each takes longer to open
    than a small table to make.
    """
    listed = warehouse.connection.execute("select file from detail_files").fetchall()
    unlisted = {path.name for path in detail.folder(warehouse.folder).glob("*.parquet")}
    unlisted -= {file for (file,) in listed}
    for path in older:
        if not unlisted:
            return
        try:
            unlisted -= listed_detail(path)
        except duckdb.Error as error:
            if not _is_unreadable(error):
                raise
            # it goes when it is no longer one of the newest; what it leads to is not known
            _LOG.warning("%s cannot be read: %s", path, error)
            return
    for name in unlisted:
        remove(detail.folder(warehouse.folder) / name)


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _point(folder: Path, name: str) -> None:
    pointer = folder / "CURRENT.building"
    with pointer.open("w", encoding="utf-8") as file:
        file.write(name + "\n")
        file.flush()
        os.fsync(file.fileno())
    pointer.replace(folder / "CURRENT")
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
