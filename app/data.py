"""The only door of the pages to DuckDB: one select in, one frame out, from the published file.

Never writes, never aggregates, and never shows a file that CURRENT does not name, except within
one run of a page, which reads one publish from its first line to its last.
"""

from __future__ import annotations

import errno
import os
import re
import threading
import warnings
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import streamlit as st

import queries
from app import shown_sql, warehouse
from queries import places
from queries.damage import is_damage

# rows are copied once more than by `sql`: they are few
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning)

NothingPublished = queries.NothingPublished


@dataclass(frozen=True, slots=True)
class _Publish:
    """A published file, held open: one that is pruned meanwhile can be read on, to its end."""

    path: Path
    modified: int  # nanoseconds; a warehouse that is made anew may use a name again
    connection: duckdb.DuckDBPyConnection


class _Run(threading.local):
    """Goes with the thread of a run; its context is kept by whatever the run started."""

    publish: _Publish | None = None


_run = _Run()
_ran: ContextVar[dict[str, tuple[object, ...]]] = ContextVar("values of the selects of this run")
# what DuckDB says of files that are gone, cut off or no longer what was written
_DAMAGED = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.InvalidInputException,
    duckdb.SerializationException,
)
# of a view, or a column of one, that a file does not have
_LACKING = (duckdb.CatalogException, duckdb.BinderException)
_VIEW: Final = re.compile(r"\bfrom\s+(\w+)", re.IGNORECASE)


class ViewFailed(Exception):
    """A select did not run. `view` names what it reads; the page goes on without this card."""

    def __init__(self, view: str, reason: str) -> None:
        super().__init__(f"{view}: {reason}")
        self.view = view
        self.reason = reason


def folder() -> Path:
    """The folder that ETT_WAREHOUSE names, `./warehouse` without it."""
    return Path(os.path.realpath(places.warehouse()))  # also of a link that leads to itself


def published() -> Path:
    """The file that CURRENT names now. Raises NothingPublished, and ViewFailed where that cannot be
    told.
    """
    try:
        return queries.published(folder())
    except OSError as error:  # of a text that names the file: pages name none
        raise ViewFailed("publication", error.strerror or type(error).__name__) from error


def pin() -> Path:
    """Let everything this run reads come from the publish of now; returns its file. Why that cannot
    be opened is said of each select.
    """
    _ran.set({})
    _run.publish = None
    with suppress(OSError, duckdb.Error):
        _run.publish = _newest()
        return _run.publish.path
    return published()


def frame(sql: str, *parameters: object) -> pl.DataFrame:
    """Run one select on the published warehouse. Raises ViewFailed."""
    if (ran := _ran.get(None)) is not None:
        ran.setdefault(sql, parameters)  # of several windows, the one that is looked at is first
    try:
        publish = _run.publish or _newest()
        # in one piece: streamlit takes longer over each argument than over all of them as a text
        key = repr((str(publish.path), publish.modified, sql, parameters))
        return _frame(key, publish.connection, sql, parameters)
    except (FileNotFoundError, duckdb.Error) as error:
        raise ViewFailed(_view(sql), _first_line(error)) from error


def row(sql: str, *parameters: object) -> dict[str, Any]:
    """The first row of a select as a dictionary, empty if it has none. Raises ViewFailed."""
    return next(frame(sql, *parameters).iter_rows(named=True), {})


def shown(sql: str, *values: object) -> str:
    """The select with these values, else with those that this run of a page gave it first, for
    showing only.
    """
    given = values or (_ran.get(None) or {}).get(sql, ())
    return shown_sql.with_values(sql, given).strip()


def detail(job_id: str) -> pl.DataFrame:
    """What the page of a job draws: areas as charged, spans as reported, saves, failures.

    Columns: job_id, attempt, kind, name, stage, rank, started_us, ended_us, step, detail, file (the
    dump it came from). Empty where the job has none. Raises ViewFailed.
    """
    held = row("select job_id, job_no, file from job_details where job_id = ?", job_id)
    if not held:
        return pl.DataFrame()
    file = str(folder() / "detail" / held["file"])
    try:
        return frame(_DETAIL, held["job_id"], file, held["job_no"])
    except ViewFailed as failure:  # of a file that no view reads, but one names
        raise ViewFailed("job_details", failure.reason) from failure


# Intervals of one area that adjoin are drawn as one: they were cut where a span or a day ended.
_DETAIL = """
    with told as (
        select
            ? as job_id,
            rows.* exclude (job_no, file_no, base_job_no, category)
            replace (coalesce(rows.category, rows.name) as name),
            files.file,
            rows.kind = 'area'
            and rows.name = lag(rows.name) over before
            and rows.detail is not distinct from lag(rows.detail) over before
            and rows.started_us = lag(rows.ended_us) over before as goes_on
        from read_parquet(?) as rows
        left join ingested_files as files on rows.file_no = files.file_no
        where rows.job_no = ?
        window before as (partition by rows.attempt, rows.kind order by rows.started_us)
    ),
    numbered as (
        select
            *,
            -- a count with a filter would be told anew for each row, from the first on
            sum(case when goes_on then 0 else 1 end) over (
                partition by attempt, kind order by started_us rows unbounded preceding
            ) as piece
        from told
    )
    select
        job_id, attempt, kind, name, stage, rank,
        min(started_us) as started_us, max(ended_us) as ended_us,
        step, detail, file
    from numbered
    group by job_id, attempt, kind, name, stage, rank, step, detail, file, piece
    order by attempt, started_us, ended_us, kind, name
"""


def midnight(day: date, time_zone: str) -> datetime:
    """The UTC instant (naive, as the warehouse keeps times) at which a day starts in its zone."""
    start = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(time_zone))
    return start.astimezone(ZoneInfo("UTC")).replace(tzinfo=None)


def _newest() -> _Publish:
    try:
        return _opened(published())
    except (FileNotFoundError, duckdb.IOException):  # pruned between CURRENT and here
        return _opened(published())


def _opened(path: Path) -> _Publish:
    modified = path.stat().st_mtime_ns
    return _Publish(path, modified, _connection(str(path), modified))


@st.cache_data(show_spinner=False, max_entries=512)
def _frame(
    key: str, _held: duckdb.DuckDBPyConnection, _sql: str, _parameters: tuple[object, ...]
) -> pl.DataFrame:
    with _held.cursor() as cursor:
        warehouse.refuse_all_but_selects(cursor, _sql)
        # `sql` plans a select twice, once for its columns: a seventh of a page
        cursor.execute(_sql, list(_parameters))
        return pl.DataFrame(cursor.to_arrow_table())


# The file of now, and that of the runs which began before it: each keeps what was read of it. One
# that makes room is closed by whoever reads it last: to close it at once breaks what still runs.
@st.cache_resource(show_spinner=False, max_entries=2)
def _connection(path: str, modified: int) -> duckdb.DuckDBPyConnection:
    return warehouse.connect(Path(path))


def _view(sql: str) -> str:
    found = _VIEW.search(sql)
    return found.group(1) if found else "a query"


def _first_line(error: Exception) -> str:
    told = _told(error)
    if os.strerror(errno.EACCES) in told:  # the engine tells no number of it
        return f"who runs this needs to read every file of the warehouse: {told}"
    if isinstance(error, _DAMAGED) or is_damage(error):
        return f"a file is missing or damaged, `ett-warehouse check` says what to do: {told}"
    if isinstance(error, _LACKING):
        return (
            "what is published does not have it, as that of an older release; the next ingest or "
            f"`ett-warehouse rebuild` publishes it anew: {told}"
        )
    return told


def _told(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
