"""A copy of the warehouse that is whole, and back: while readers read, and while nobody writes.

Holds the writer's file and the detail that it lists. What readers open is not in it: that is made
anew from these when they are restored, under numbers and names that the folder never had.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import duckdb

from ingest import detail, migrations
from ingest.errors import UnusableArguments
from ingest.warehouse import rebuild_command, unopenable
from ingest.words import counted
from queries import SCHEMA_VERSION, places
from queries.published import BACKUP_MANIFEST

_FILE = "warehouse.duckdb"
_PART = "ett-backup-part-"  # of the name of one that is not whole yet
_ASIDE = "warehouse.restoring"
_AT_ONCE = 8 * 1024 * 1024

_MOST = 2**53  # of a number of a publication: JSON's own, and more than ever were
_OF_DETAIL = re.compile(r"detail/[^/]+\.parquet")  # what is named otherwise is of no backup

Judge = Callable[[duckdb.DuckDBPyConnection], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A folder that says that it is a whole backup: `files` are SHA-256 by name."""

    folder: Path
    schema_version: int
    publication: int
    files: Mapping[str, str]


def backup(folder: Path, target: Path, say: Callable[[str], None]) -> int:
    """Copy the warehouse, whose lock the caller holds, into a new folder. Returns bytes copied.

    The folder appears when it is whole; what does not come to that leaves nothing behind. Raises
    UnusableArguments where there is nothing to copy or something in the way.
    """
    if not (folder / _FILE).is_file():
        raise UnusableArguments(f"{folder} has no {_FILE}. Name the folder with --warehouse.")
    place = _place(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    # a name that nobody else can have: whatever lies beside the backup is another's
    part = place.with_name(f"{_PART}{secrets.token_hex(8)}")
    try:
        detail.folder(part).mkdir(parents=True)
        names = _copy(folder, part, say)
        part.rename(place)  # also over an empty folder
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return sum((place / name).stat().st_size for name in names)


def found(folder: Path) -> Backup:
    """The backup in a folder. Raises UnusableArguments where there is none of this release."""
    told = _told(folder)
    schema, publication, files = map(told.get, ("schema_version", "publication", "files"))
    if _is_number(schema) and schema > SCHEMA_VERSION and files:
        raise UnusableArguments(
            f"{folder} is a backup of a newer release: its schema is {schema}, "
            f"this release knows {SCHEMA_VERSION}. Update this installation."
        )
    if not _is_number(schema) or schema < 1:
        raise _no_backup(folder, f"its {BACKUP_MANIFEST} has no schema_version as a backup's has")
    if not _is_number(publication) or not 0 <= publication < _MOST:
        raise _no_backup(folder, f"its {BACKUP_MANIFEST} has no publication as a backup's has")
    if not _are_files(files):
        raise _no_backup(folder, f"its {BACKUP_MANIFEST} has no files as a backup's has")
    return Backup(folder, schema, publication, files)


def restore(source: Backup, folder: Path, judge: Judge, say: Callable[[str], None]) -> None:
    """Let the folder, whose lock the caller holds, have the warehouse of a backup.

    `judge` looks at what the backup holds, brought to this release, and raises where it cannot be
    what is wanted. What is published stays until the caller publishes: nothing that a reader may
    open is touched. Raises UnusableArguments where files are not what was backed up, before
    anything is replaced.
    """
    number = 1 + max([source.publication, *_numbers(folder)])
    is_first = not detail.folder(folder).exists()
    detail.folder(folder).mkdir(exist_ok=True)
    aside = folder / _ASIDE
    migrations.remove(aside)
    # the writer's file first: what is refused for what it says needs no detail
    names = sorted(source.files, key=lambda name: (name != _FILE, name))
    copies = {name: _copy_of(name, place, folder, number) for place, name in enumerate(names)}
    try:
        for done, (name, copy) in enumerate(copies.items(), 1):
            _bring(source.folder / name, copy, source.files[name], folder)
            say(f"copied {done} of {counted(len(names), 'file')}")
            if name == _FILE:
                _look_at(aside, source.schema_version, judge)
        renamed = {Path(name).name: copy.name for name, copy in copies.items() if name != _FILE}
        _rename_detail(aside, renamed, number)
        _end_log(folder / _FILE)
    except BaseException:
        for copy in copies.values():
            migrations.remove(copy)
        if is_first:
            with suppress(OSError):
                detail.folder(folder).rmdir()
        raise
    migrations.replace(aside, folder / _FILE)


def _told(folder: Path) -> dict[str, Any]:
    try:
        told = json.loads((folder / BACKUP_MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise _no_backup(folder, f"it has no {BACKUP_MANIFEST} that can be read") from None
    if not isinstance(told, dict):
        raise _no_backup(folder, f"its {BACKUP_MANIFEST} is of something else")
    return told


def _is_number(told: object) -> TypeGuard[int]:
    return isinstance(told, int) and not isinstance(told, bool)


def _are_files(told: object) -> TypeGuard[dict[str, str]]:
    """Whether these are names and sums of files, the writer's among them, none from elsewhere."""
    return (
        isinstance(told, dict)
        and _FILE in told
        and all(name == _FILE or _OF_DETAIL.fullmatch(name) for name in told)
        and all(isinstance(sum, str) for sum in told.values())
    )


def _no_backup(folder: Path, why: str) -> UnusableArguments:
    return UnusableArguments(
        f"{folder} is no backup, or a damaged one: {why}. Name another folder that "
        "`ett-warehouse backup` wrote."
    )


def _copy_of(name: str, place: int, folder: Path, number: int) -> Path:
    """Where a file of a backup is copied to: no reader looks there, and no other file is there."""
    if name == _FILE:
        return folder / _ASIDE
    return detail.folder(folder) / f"{number:08d}-restored-{place}.parquet"


def _bring(file: Path, copy: Path, told: str, folder: Path) -> None:
    """Copy a file of a backup. Raises UnusableArguments where it is not what was backed up."""
    try:
        found = _copied(file, copy)
    except FileNotFoundError:
        found = "missing"
    if found != told:
        raise UnusableArguments(
            f"{file} is not what was backed up. {folder} is as it was. Restore another backup."
        )


def _place(target: Path) -> Path:
    """Where the new folder can be. Raises UnusableArguments where it cannot."""
    if places.leads_to_itself(target):
        raise UnusableArguments(
            f"{target} is a link that leads to itself. Name another folder for the backup."
        )
    place = target.resolve() if target.name in ("", "..") else target
    if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
        raise UnusableArguments(f"{target} is there already. Name a new folder for the backup.")
    place = place.resolve() if place.is_symlink() else place
    if place.resolve() == Path.cwd():  # whoever stands there would stand in none
        raise UnusableArguments(
            f"{target} is the folder that this runs in. Name a new folder for the backup."
        )
    if why := unopenable(place):
        raise UnusableArguments(f"{target} {why}. Name another folder for the backup.")
    return place


def _copy(folder: Path, part: Path, say: Callable[[str], None]) -> Iterable[str]:
    """Fill the folder of a backup that is not whole yet. Returns the files that it consists of."""
    for name in (_FILE, _FILE + ".wal"):
        if (folder / name).exists():
            _copied(folder / name, part / name)
    told, listed = _look_into(part / _FILE)
    files = [f"detail/{name}" for name in listed]
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise UnusableArguments(
            f"{folder / missing[0]} is listed and missing. Run {rebuild_command(folder)} first."
        )
    sums = {_FILE: _sum(part / _FILE)}
    for done, name in enumerate(files, 1):
        sums[name] = _copied(folder / name, part / name)
        say(f"copied {done} of {counted(len(files), 'file')} of detail")
    _write_manifest(part / BACKUP_MANIFEST, told | {"files": sums})
    migrations.replace(part / BACKUP_MANIFEST, part / BACKUP_MANIFEST)
    return sums


def _look_into(path: Path) -> tuple[dict[str, int], list[str]]:
    """Opens a copy, which takes its log into it as well: schema, publication, detail files.

    Reads all of it: raises duckdb.Error where a block is damaged, which would show at a restore.
    """
    with duckdb.connect(str(path)) as copy:
        tables = copy.execute("select table_name from duckdb_tables()").fetchall()
        for (table,) in tables:
            copy.execute(f"select max(hash(told)) from {table} as told").fetchall()
        [(schema, publication)] = copy.execute(
            "select schema_version, publication from meta"
        ).fetchall()
        listed = [file for (file,) in copy.execute("select file from detail_files").fetchall()]
        copy.execute("checkpoint")
    return {"schema_version": schema, "publication": publication}, sorted(listed)


def _look_at(path: Path, schema_version: int, judge: Judge) -> None:
    if schema_version < SCHEMA_VERSION:
        migrations.upgrade(path, schema_version)
    with duckdb.connect(str(path)) as connection:
        judge(connection)


def _rename_detail(path: Path, renamed: Mapping[str, str], number: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("create temp table renamed (old varchar, new varchar)")
        if renamed:
            connection.executemany("insert into renamed values (?, ?)", list(renamed.items()))
        connection.execute("begin")
        for table in ("detail_files", "job_details"):
            connection.execute(
                f"update {table} set file = renamed.new from renamed where file = renamed.old"
            )
        connection.execute("update meta set publication = ?, published = null", [number])
        connection.execute("commit")
        connection.execute("checkpoint")


def _numbers(folder: Path) -> Iterator[int]:
    """Every number that a publication or a detail file of the folder has."""
    for path in (*folder.glob("serving-*.duckdb"), *detail.folder(folder).glob("*.parquet")):
        for part in path.stem.split("-"):
            if part.isdecimal():
                yield int(part)


def _end_log(path: Path) -> None:
    """Let nothing of the old file's log be taken for the new one's."""
    log = path.with_name(path.name + ".wal")
    if log.exists():
        try:
            duckdb.connect(str(path)).close()
        except duckdb.Error:  # a damaged one: that is why it is replaced
            log.unlink()


def _copied(source: Path, target: Path) -> str:
    """Copy a file to the disk itself; returns its SHA-256."""
    told = hashlib.sha256()
    with source.open("rb") as reading, target.open("wb") as writing:
        while piece := reading.read(_AT_ONCE):
            told.update(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    return told.hexdigest()


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_manifest(path: Path, told: Mapping[str, object]) -> None:
    path.write_text(json.dumps(told, indent=1), encoding="utf-8")
