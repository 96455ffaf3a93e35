"""The yardstick: DuckDB's own reading of a dump into a table of a file, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def main(dump: Path, database: Path, *, ignore_errors: bool) -> None:
    """Read a JSON Lines dump with every default of DuckDB into the table `events` of a new file."""
    for path in (database, database.with_name(database.name + ".wal")):
        path.unlink(missing_ok=True)
    told = ", ignore_errors = true" if ignore_errors else ""
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            f"create table events as select * from read_json('{dump}', "
            f"format = 'newline_delimited'{told})"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), ignore_errors="--ignore-errors" in sys.argv)
