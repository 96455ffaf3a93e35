"""The writer's file: opened by one ingest at a time, with its schema and engine settings.

Never opened by a reader, never copied while open.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import duckdb

from ingest import migrations
from ingest.errors import WarehouseBusy, WarehouseUnusable
from ingest.words import first_line
from queries.damage import is_damage
from queries.interrupts import reached_by_ctrl_c
from queries.published import SCHEMA_VERSION, backup_sentence

_SCHEMA = Path(__file__).with_name("schema.sql")
_LOCK = "ingest.lock"
_WATCHER = "watch.lock"

_GIB = 1 << 30
_LEAST_KEPT = 64 << 20  # bytes: with less it does as well without


@dataclass(frozen=True, slots=True)
class Storage:
    """What the engine may take: bytes of memory, and where it puts what does not fit."""

    memory_bytes: int = 2 * _GIB
    temp_directory: Path | None = None  # None: inside the warehouse


@dataclass(frozen=True, slots=True)
class Warehouse:
    """An open warehouse folder and the only connection that may write it."""

    folder: Path
    connection: duckdb.DuckDBPyConnection


@contextmanager
def opened(
    folder: Path,
    waiting: Callable[[str], None],
    patience_seconds: float,
    storage: Storage = Storage(),
    *,
    may_upgrade: bool = True,
) -> Iterator[Warehouse]:
    """Hold the folder's lock and open the writer's file. `waiting` is told who holds it meanwhile.

    A file of an older release is upgraded, where that is wanted. Raises WarehouseBusy when the lock
    is not free in time, WarehouseUnusable where nothing can be written or the file is of another
    release.
    """
    with locked(folder, waiting, patience_seconds):
        connection = _connect(folder, storage, may_upgrade)
        try:
            with reached_by_ctrl_c(connection):
                yield Warehouse(folder, connection)
        finally:
            connection.close()


@contextmanager
def locked(folder: Path, waiting: Callable[[str], None], patience_seconds: float) -> Iterator[None]:
    """Hold the folder's lock only: nobody writes the file meanwhile, and it can be copied.

    A folder that was made for this goes again where nothing comes of it.
    """
    refuse_backup(folder)
    if why := unopenable(folder):
        raise WarehouseUnusable(f"{folder} {why}. Give --warehouse another folder.")
    deadline = time.monotonic() + patience_seconds
    while True:
        made: list[Path] = []
        try:
            _make(folder, made)
            lock = (folder / _LOCK).open("a+", encoding="utf-8")
        except OSError as error:
            _remove(made)
            raise _unwritable(folder, error) from None
        with lock:
            _acquire(lock, folder, waiting, deadline)
            if not _is_in(folder, lock):  # who held it made the folder, and took it back
                continue
            try:
                yield
            except BaseException:
                with suppress(OSError):
                    if folder in made and [path.name for path in folder.iterdir()] == [_LOCK]:
                        (folder / _LOCK).unlink()
                _remove(made)
                raise
            return


def claimed(folder: Path) -> IO[str]:
    """Be the only watcher of a warehouse until what this returns is closed, or the process ends.

    Two would each say how it goes in the one file that says so, and hide when the other stalls.
    Raises WarehouseUnusable where another is, or where nothing can be written.
    """
    refuse_backup(folder)
    try:
        lock = (folder / _WATCHER).open("a+", encoding="utf-8")
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(lock)
        lock.close()
        raise WarehouseUnusable(
            f"{holder} watches dumps for {folder} already: give that one all paths, since one "
            "watcher follows as many as you name, or end it first."
        ) from None
    _sign(lock)
    return lock


def unopenable(folder: Path) -> str | None:
    """Why the engine can open no file in a folder, whatever it holds; None: it can."""
    if "?" in str(folder.resolve()):  # the engine takes what follows for options of the file
        return "has a ? in its path"
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        return "has bytes in its path that are no UTF-8"
    return None


def refuse_backup(folder: Path) -> None:
    """Raise WarehouseUnusable where whatever was written would make a backup worthless."""
    if sentence := backup_sentence(folder):
        raise WarehouseUnusable(sentence)


def refuse_lost(folder: Path, *, is_empty: bool = False) -> None:
    """Raise WarehouseUnusable where something is published, and what it was made of is gone: a file
    begun anew would be published in its place, as if nothing else had ever been told.
    """
    path = folder / "warehouse.duckdb"
    is_gone = is_empty or not path.exists() or path.stat().st_size == 0
    if is_gone and (folder / "CURRENT").is_file():
        raise WarehouseUnusable(
            f"{path} is lost. What is published is still read. Restore a backup (`ett-warehouse "
            f"restore DIR --warehouse {shlex.quote(str(folder))}`), or ingest the dumps into a new "
            "folder (--warehouse)."
        )


def scratch(folder: Path) -> Path:
    """A folder for what an ingest needs only while it runs; emptied at the start of each."""
    return folder / "tmp"


def literally(path: Path) -> str:
    """A path as SQL text for functions that read patterns, whatever characters its folder has."""
    plain = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))
    return "'" + plain.replace("'", "''") + "'"


def rebuild_command(folder: Path) -> str:
    """What computes all facts of a warehouse anew, to be copied as it is."""
    return f"`ett-warehouse rebuild --warehouse {shlex.quote(str(folder))}`"


def damaged(folder: Path, error: Exception) -> str:
    """What to do where the engine says that the file it writes is damaged."""
    return (
        f"{folder / 'warehouse.duckdb'} is damaged: {first_line(error)}. What is "
        "published is still read. Restore a backup (`ett-warehouse restore DIR --warehouse "
        f"{shlex.quote(str(folder))}`), or ingest the dumps into a new folder (--warehouse)."
    )


def wants_memory(error: Exception) -> str | None:
    """What to do where the engine may take no more memory, in a sentence without its end. None: it
    stopped at something else, such as no room on disk for what does not fit, which it calls so too.
    """
    if not isinstance(error, duckdb.OutOfMemoryException) or "temp_directory_size" in str(error):
        return None
    return (
        f"it takes more memory than storage.memory_limit of ett.toml allows ("
        f"{first_line(error)}): raise that"
    )


def _unwritable(folder: Path, error: OSError) -> WarehouseUnusable:
    return WarehouseUnusable(
        f"{folder} cannot be written: {error.strerror or error}. Let it be written, or give "
        "--warehouse another folder."
    )


def _make(folder: Path, made: list[Path]) -> None:
    """Make the folder and those that it lies in; `made` is told of each, the outermost first."""
    for place in (*reversed(folder.parents), folder):
        if place.is_dir():
            continue
        try:
            place.mkdir()
        except FileExistsError:
            if not place.is_dir():
                raise
        else:
            made.append(place)


def _remove(made: list[Path]) -> None:
    """Remove these folders, from within, up to one that holds anything."""
    with suppress(OSError):
        for place in reversed(made):
            place.rmdir()


def _is_in(folder: Path, lock: IO[str]) -> bool:
    try:
        return os.path.samestat((folder / _LOCK).stat(), os.fstat(lock.fileno()))
    except FileNotFoundError:
        return False


def _acquire(lock: IO[str], folder: Path, waiting: Callable[[str], None], deadline: float) -> None:
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            holder = _holder(lock)
            if time.monotonic() >= deadline:
                raise WarehouseBusy(
                    f"{folder} is being written by {holder}. Try again when it has finished."
                ) from None
            if not told:
                waiting(holder)
                told = True
            time.sleep(0.2)
    _sign(lock)


def _sign(lock: IO[str]) -> None:
    """Say in a lock that is held who holds it."""
    lock.seek(0)
    lock.truncate()
    began = datetime.now(UTC).strftime("%H:%M:%S UTC")
    json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": began}, lock)
    lock.flush()


def _holder(lock: IO[str]) -> str:
    lock.seek(0)
    try:
        said = json.loads(lock.read())
        return f"process {said['pid']} on {said['host']} since {said['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _connect(folder: Path, storage: Storage, may_upgrade: bool) -> duckdb.DuckDBPyConnection:
    path = folder / "warehouse.duckdb"
    refuse_lost(folder)
    connection = _open(path, storage)
    try:
        version = _version(connection, path)
        if version is None:
            refuse_lost(folder, is_empty=True)
            _create(connection)
            return connection
        if version == SCHEMA_VERSION:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    if not may_upgrade:
        raise WarehouseUnusable(
            f"{path} was written by an older release: its schema is {version}, this release has "
            f"{SCHEMA_VERSION}. A check or a dry run changes nothing, and so cannot read it: run "
            f"{rebuild_command(folder)} first, which brings it to this release."
        )
    migrations.upgrade(path, version)
    return _open(path, storage)


def _open(path: Path, storage: Storage) -> duckdb.DuckDBPyConnection:
    spill = _spill(path.parent, storage)
    if storage.temp_directory is not None:
        _refuse_unusable(spill, storage.temp_directory)
    try:
        spill.mkdir(parents=True, exist_ok=True)
        connection = duckdb.connect(
            str(path),
            config={
                "temp_directory": str(spill),
                "memory_limit": f"{storage.memory_bytes}B",
                "python_enable_replacements": "false",  # a table is never a Python name
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            },
        )
    except (OSError, duckdb.Error) as error:
        if is_damage(error):
            raise WarehouseUnusable(damaged(path.parent, error)) from None
        raise WarehouseUnusable(f"{path} cannot be opened for writing: {error}") from None
    connection.execute("set TimeZone = 'UTC'")
    _keep_memory(connection, storage.memory_bytes // 8 * 7)
    # a commit that would write more than this into the log goes into the file at once: what goes
    # through the log is written twice, and a large batch pays a tenth of its time for that
    connection.execute("set checkpoint_threshold = '64MB'")
    # likewise what a dropped table held: the next one asks for it again
    connection.execute("set allocator_flush_threshold = '64GiB'")
    connection.execute("set allocator_bulk_deallocation_flush_threshold = '64GiB'")
    return connection


def _keep_memory(connection: duckdb.DuckDBPyConnection, most: int) -> None:
    """Let the engine keep memory for the whole run: what goes back to the system costs time anew.

    It keeps no more than a part of the machine's memory, or of the container's. Asked for more
    here, it refuses, and is asked for half; asked while it opens, it ends the process.
    """
    while most >= _LEAST_KEPT:
        try:
            connection.execute(f"set block_allocator_memory = '{most}B'")
            return
        except duckdb.InvalidInputException:
            most //= 2


def _spill(folder: Path, storage: Storage) -> Path:
    if storage.temp_directory is None:
        return scratch(folder) / "spill"
    # the engine's files there have the same names for every warehouse
    place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    return storage.temp_directory / f"ett-{place}"


def _refuse_unusable(spill: Path, named: Path) -> None:
    """Raise WarehouseUnusable for a setting that would else be told as a fault of the warehouse."""
    try:
        str(spill).encode()
        spill.mkdir(parents=True, exist_ok=True)
        why = None if os.access(spill, os.W_OK | os.X_OK) else "it cannot be written"
    except UnicodeEncodeError:
        why = "it has bytes in its path that are no UTF-8"
    except OSError as error:
        why = error.strerror or str(error)
    if why:
        raise WarehouseUnusable(
            f"storage.temp_directory {named} cannot be used: {why}. Let it name another folder in "
            "ett.toml, or leave it out."
        )


def _version(connection: duckdb.DuckDBPyConnection, path: Path) -> int | None:
    """The schema of the file; None: it is empty. Raises WarehouseUnusable for a newer one."""
    present = connection.execute(
        "select count(*) from duckdb_tables() where table_name = 'meta' and not temporary"
    ).fetchone()
    if present == (0,):
        return None
    [(version,)] = connection.execute("select max(schema_version) from meta").fetchall()
    if version > SCHEMA_VERSION:
        raise WarehouseUnusable(
            f"{path} was written by a newer release: its schema is {version}, this release knows "
            f"{SCHEMA_VERSION}. Update this installation, or give --warehouse another folder."
        )
    return int(version)


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("begin")
    connection.execute(_SCHEMA.read_text(encoding="utf-8"))
    connection.execute(
        "insert into meta (schema_version, publication) values (?, 0)", [SCHEMA_VERSION]
    )
    connection.execute("commit")
