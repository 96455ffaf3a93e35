"""Brings the writer's file of an older release to the schema of this one.

Works on a copy that takes the file's place in one step: whatever happens on the way, the old file
stays as it was. Only says what tables hold; facts are computed anew from the events afterwards,
because their models have changed (ingest/facts.py).
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb

from ingest import links
from ingest.errors import WarehouseUnusable
from queries.published import SCHEMA_VERSION

# `<n>.sql` makes schema n of schema n - 1
_STEPS = Path(__file__).parent


def upgrade(path: Path, version: int) -> None:
    """Upgrade the file, which nobody may have open. Raises WarehouseUnusable where it cannot be.

    Takes as much free space as the file.
    """
    aside = path.with_suffix(".upgrading")
    remove(aside)
    try:
        shutil.copyfile(path, aside)
        _alter(aside, version)
        replace(aside, path)
    except (OSError, duckdb.Error) as error:
        remove(aside)
        raise WarehouseUnusable(
            f"{path} has schema {version} and could not be brought to {SCHEMA_VERSION}: {error}. "
            "It is as it was. Mend that, then run the same command again; or ingest the dumps "
            "into a new folder (--warehouse)."
        ) from None


def replace(new: Path, old: Path) -> None:
    """Let a whole new file take an old one's place, so that a lost power finds one of the two."""
    with new.open("rb+") as file:
        os.fsync(file.fileno())
    new.replace(old)
    directory = os.open(old.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _alter(path: Path, version: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")
        for step in range(version + 1, SCHEMA_VERSION + 1):
            connection.execute((_STEPS / f"{step}.sql").read_text(encoding="utf-8"))
        links.note(connection, 0)
        connection.execute("update meta set schema_version = ?", [SCHEMA_VERSION])
        connection.execute("commit")
        connection.execute("checkpoint")


def remove(path: Path) -> None:
    """Remove the file, and what DuckDB may have left beside it."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".wal").unlink(missing_ok=True)
