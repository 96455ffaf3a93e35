"""Lines that were set aside: collected while a batch is read, kept when it is committed."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import polars as pl

from ingest.dumps import Truncated
from ingest.events import Reason, Rejected
from queries import frames

_COLUMNS = {
    "line_number": pl.Int64,
    "reason": pl.String,
    "detail": pl.String,
    "line": pl.String,
}

# The dumps that tell events; distinct first: else each of these is put where few are looked up.
_SPEAKING = "select distinct file_no from batch"

_LINES = "list(hash(line_number, reason, detail, line) order by line_number, reason, detail, line)"


def begin(connection: duckdb.DuckDBPyConnection) -> None:
    """An empty table `rejects` for the batch: file_no, line_number, reason, detail, line."""
    connection.execute(
        "create or replace temp table rejects "
        "(file_no integer, line_number bigint, reason varchar, detail varchar, line varchar)"
    )


def add(connection: duckdb.DuckDBPyConnection, file_no: int, rejected: Sequence[Rejected]) -> None:
    """Set lines of a file aside."""
    if not rejected:
        return
    rows = [(one.line_number, str(one.reason), one.detail, one.line) for one in rejected]
    frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    frames.lend(connection, "set_aside", frame)
    connection.execute(f"insert into rejects select {file_no}, * from set_aside")
    connection.unregister("set_aside")


def add_breaks(
    connection: duckdb.DuckDBPyConnection, file_no: int, broken: Sequence[Truncated]
) -> None:
    """Note where a compressed stream broke off: what followed is not known."""
    add(
        connection,
        file_no,
        [Rejected(one.line_number + 1, Reason.NOT_JSON, one.why, "") for one in broken],
    )


def newest(connection: duckdb.DuckDBPyConnection) -> int:
    """The line that was set aside last, for `take_back`."""
    [(place,)] = connection.execute("select coalesce(max(rowid), -1) from rejects").fetchall()
    return int(place)


def take_back(connection: duckdb.DuckDBPyConnection, place: int) -> None:
    """Forget what was set aside since that was the newest line."""
    connection.execute("delete from rejects where rowid > ?", [place])


def mute(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """The dumps of which every line was set aside. Reads `batch`, before known events leave it."""
    rows = connection.execute(
        f"select distinct file_no from rejects where file_no not in ({_SPEAKING})"
    ).fetchall()
    return {file_no for (file_no,) in rows}


def forget_told(connection: duckdb.DuckDBPyConnection, dumps: Sequence[int]) -> None:
    """Forget the rejects of dumps that tell nothing new: no event, and the same lines set aside in
    the same places as in another dump. Such a dump was packed in another way. Reads `batch`.
    """
    connection.execute(
        "create or replace temp table quiet as select file_no, count(*) as lines, "
        f"{_LINES} as told from rejects where list_contains(?, file_no) "
        f"and file_no not in ({_SPEAKING}) group by file_no",
        [list(dumps)],
    )
    if connection.execute("select 1 from quiet limit 1").fetchone() is None:
        return
    connection.execute(
        "create or replace temp table retold as "
        "with known as ("
        f"select file_no, {_LINES} as told from rejected_lines where file_no in "
        "(select file_no from files where rejected in (select lines from quiet)) group by file_no "
        f"union all select file_no, {_LINES} as told from rejects group by file_no"
        ") select distinct quiet.file_no from quiet inner join known "
        "on quiet.told = known.told and known.file_no < quiet.file_no"
    )
    connection.execute("delete from rejects where file_no in (select file_no from retold)")


def shift(connection: duckdb.DuckDBPyConnection, lines: dict[int, int]) -> None:
    """Number the lines of pieces as those of their files: so many lines come before."""
    for file_no, before in lines.items():
        connection.execute(
            "update rejects set line_number = line_number + ? where file_no = ?", [before, file_no]
        )


def keep(connection: duckdb.DuckDBPyConnection, grown: dict[int, int | None]) -> None:
    """Move the batch's rejects to the warehouse; those of a file that grew take their old place.

    What it told then it tells again.
    """
    for earlier in grown.values():
        if earlier is not None:
            connection.execute("delete from rejected_lines where file_no = ?", [earlier])
            connection.execute(
                "update files set rejected = 0, told = 0 where file_no = ?", [earlier]
            )
    connection.execute(
        "insert into rejected_lines "
        "select rejects.file_no, files.file, line_number, reason, detail, line "
        "from rejects inner join files on rejects.file_no = files.file_no"
    )
