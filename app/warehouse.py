"""Opens a published file: read-only, no downloads, nothing else in reach but the detail folder.

Knows neither streamlit nor prometheus, and never opens the file that ingest writes.
"""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb

from queries import SCHEMA_VERSION, NothingPublished, PublishedByNewerRelease, published

_NO_DOWNLOADS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_opening = threading.Lock()


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a published file. Take a `cursor()` for each query: threads mix results otherwise.

    Raises FileNotFoundError or duckdb.Error where the file is gone (a newer publish pruned it),
    duckdb.Error where it is not a DuckDB file, PublishedByNewerRelease where its views may mean
    what this release does not know.
    """
    with _opening:
        connection = duckdb.connect(_spelt(path), read_only=True, config=_NO_DOWNLOADS)
        try:
            _confine(connection, path.resolve().parent / "detail")
            _refuse_newer(connection, path)
        except (duckdb.Error, PublishedByNewerRelease):
            connection.close()
            raise
    return connection


def refuse_all_but_selects(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise duckdb.PermissionException for any other statement.

    A folder that DuckDB may read it may write as well: `copy` would overwrite the detail files.
    """
    told = [statement.type for statement in connection.extract_statements(sql)]
    if told != [duckdb.StatementType.SELECT]:
        raise duckdb.PermissionException("only one select at a time is run here")


def refuse_newer(folder: Path) -> str | None:
    """Raise PublishedByNewerRelease. Whatever else is wrong shows, and may pass, while serving:
    returns what it is.
    """
    try:
        connect(published(folder)).close()
    except PublishedByNewerRelease:
        raise
    except (NothingPublished, OSError, duckdb.Error) as error:
        return str(error)
    return None


def _spelt(path: Path) -> str:
    """The path in a spelling that no other file of this name has: a warehouse that is made anew, or
    restored, counts its publishes anew.

    What is open under a path is what the engine opens under it again, though another file is there
    by now. With the kind of the file in front it takes another spelling for another path.
    """
    modified = f"{path.stat().st_mtime_ns:b}"
    detour = "".join("./" if bit == "1" else "/" for bit in modified)
    return f"duckdb:{path.resolve().parent}/{detour}{path.name}"


def _refuse_newer(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    try:
        found = connection.execute(
            "select schema_version from publication where try_cast(schema_version as integer) > ?",
            [SCHEMA_VERSION],
        ).fetchone()
    except (duckdb.CatalogException, duckdb.BinderException):  # says of each view what it lacks
        return
    if found is not None:
        raise PublishedByNewerRelease(
            f"{path} was published by a newer release: its schema is {found[0]}, this release "
            f"knows {SCHEMA_VERSION}. Update this installation."
        )


def _confine(connection: duckdb.DuckDBPyConnection, detail: Path) -> None:
    # connections of one process to one file share settings: the second finds them locked
    ((is_locked,),) = connection.execute("select current_setting('lock_configuration')").fetchall()
    if is_locked:
        return
    folder = str(detail).replace("'", "''")
    for setting in (
        "timezone = 'UTC'",
        "temp_directory = ''",  # a reader writes nothing into the warehouse, not even for a moment
        f"allowed_directories = ['{folder}/']",
        "enable_external_access = false",
        "lock_configuration = true",  # the last: it refuses every later one
    ):
        connection.execute(f"set global {setting}")
