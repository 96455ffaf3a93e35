"""The job rows of a sacct table many at once: the events that `slurm_events` makes of each, as
frames of one kind of event each.

What a state, an exit code or a list of resources means is asked there, once for each that occurs. A
row that would be set aside, or needs a look at the rows around it, is left out and read alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from ingest.collectors.base import Reading
from ingest.collectors.distinct import by_hour, by_row, by_value
from ingest.collectors.slurm_events import (
    ENDS_OF_A_RUN,
    KEPT,
    NO_NODES,
    NOTHING,
    WHOLE_CODES,
    Told,
    gpus_of,
    say_how,
    told_by,
)
from ingest.collectors.slurm_rows import Row
from ingest.collectors.slurm_states import ENDED, LIVE, RESIZING, WAITING
from ingest.collectors.slurm_table import STATE
from ingest.collectors.slurm_times import Times
from ingest.collectors.slurm_values import UNSET_TIMES, instants, raw_seconds, seconds
from ingest.collectors.units import SECOND_US
from ingest.events import Event, EventKind, Phase

# Columns that are added have an underscore in their names: those of a table have none.
_US = {"Submit": "submitted_us", "Start": "started_us", "End": "ended_us"}
_SUBMITTED, _STARTED, _ENDED = (pl.col(name) for name in _US.values())
_KNOWN = pl.coalesce(_SUBMITTED, _STARTED, _ENDED)
_ENDING = {
    "is_known": pl.Boolean,
    "ran_in_no_time": pl.Boolean,
    "said_outcome": pl.String,
    "said_exit_code": pl.Int64,
    "said_signal": pl.Int64,
    "said_message": pl.String,
    "said_category": pl.String,
}
_ENDING_CELLS = ("State", "ExitCode", "DerivedExitCode", "Reason")
_GPUS = {"gpus_held": pl.Int64, "gpu_types": pl.String}
_GPU_CELLS = ("AllocTRES", "AllocGRES", "ReqTRES", "ReqGRES", "has_run")
_IS_LIVE = pl.col(STATE).is_in(sorted(LIVE))
_WAITS = pl.col(STATE).is_in(sorted(WAITING))
_ESCAPED = r'[\x00-\x1f"\\]'
_NO_TIMES = Times(None, 0, 0, None, 0)

_encoded = json.JSONEncoder(ensure_ascii=False).encode


def plain_jobs(cells: pl.DataFrame, reading: Reading) -> pl.DataFrame:
    """Those of the whole rows of jobs that say all that `frames` needs."""
    told = cells.with_columns(
        _instants(cells, name, reading.timezone).alias(column) for name, column in _US.items()
    ).with_columns(_lengths(cells))
    ending = partial(_ending, reading=reading, are_codes_whole=WHOLE_CODES in cells.columns)
    told = told.hstack(by_row(_of(told, _ENDING_CELLS), ending, _ENDING))
    ran_in_no_time = pl.col("ran_in_no_time")
    if "NodeList" in cells.columns:
        ran_in_no_time &= pl.col("NodeList") != NO_NODES
    has_run = ran_in_no_time | _ENDED.is_null() | (_ENDED > _STARTED)
    told = told.with_columns((_STARTED.is_not_null() & ~_WAITS & has_run).alias("has_run"))
    is_unset = [
        column.is_not_null() | pl.col(name).is_in(sorted(UNSET_TIMES))
        for name, column in zip(_US, (_SUBMITTED, _STARTED, _ENDED), strict=True)
        if name in cells.columns
    ]
    told = told.filter(
        *is_unset,
        pl.col("is_known"),
        _KNOWN.is_not_null(),
        ~pl.col("has_run") | _IS_LIVE | _ENDED.is_not_null(),
        *_keeps_its_start(cells),
    )
    return told.hstack(by_row(_of(told, _GPU_CELLS), _gpus, _GPUS))


def _keeps_its_start(cells: pl.DataFrame) -> Iterator[pl.Expr]:
    if "NodeList" in cells.columns:
        ends_a_run = pl.col(STATE).is_in(sorted(ENDS_OF_A_RUN))
        yield _STARTED.is_not_null() | ~ends_a_run | pl.col("NodeList").is_in(sorted(NOTHING))


def frames(told: pl.DataFrame, reading: Reading) -> Iterator[pl.DataFrame]:
    """The events of plain jobs. Columns stand in the order in which `slurm_events` says them."""
    number = pl.col("JobIDRaw" if "JobIDRaw" in told.columns else "JobID")
    cluster = pl.coalesce(_said(told, "Cluster"), pl.lit(reading.cluster, dtype=pl.String))
    ends_first = _SUBMITTED.is_null() & (pl.col(STATE) == RESIZING) & _ENDED.is_not_null()
    key = (
        pl.when(ends_first)
        .then(pl.concat_str(pl.lit("+"), _ENDED // SECOND_US))
        .otherwise((_KNOWN // SECOND_US).cast(pl.String))
    )
    told = told.with_columns(
        cluster.alias("said_cluster"),
        pl.concat_str(cluster, number, separator=":", ignore_nulls=True).alias("job_id"),
        key.alias("row_key"),
        _KNOWN.alias("row_submitted_us"),
        pl.col(STATE).alias("row_state"),
    )
    of_row = ("job_id", "row_key", "row_submitted_us", "row_state")
    has_queue, has_run = told.filter(_SUBMITTED.is_not_null()), told.filter(pl.col("has_run"))
    yield told.select(*_job(told), *of_row)
    yield has_queue.select(*_queue(), *of_row)
    yield has_run.select(
        _STARTED.alias("at_us"),
        _event(EventKind.ATTEMPT_START),
        pl.col("gpus_held").alias("gpus"),
        *of_row,
    )
    yield has_run.select(*_last(), *of_row)


def _job(told: pl.DataFrame) -> Iterator[pl.Expr]:
    yield _KNOWN.alias("at_us")
    yield _event(EventKind.JOB)
    yield _said(told, "JobName").alias("name")
    yield _said(told, "User").alias("user")
    yield _said(told, "Account").alias("team")
    yield _said(told, "Partition").alias("partition")
    yield _said(told, "QOS").alias("priority")
    yield pl.col("said_cluster").alias("cluster")
    yield pl.col("gpus_held").alias("gpus")
    yield pl.col("gpu_types").alias("gpu_type")
    kept = [_attribute(told[name]) for name in KEPT if name in told.columns]
    attrs = pl.concat_str(kept, separator=", ", ignore_nulls=True) if kept else pl.lit("")
    said = pl.when(attrs != "").then(pl.concat_str(pl.lit("{"), attrs, pl.lit("}")))
    yield said.alias("attrs")


def _attribute(cells: pl.Series) -> pl.Expr:
    """`"NodeList": "n[1-4]"`; null where the cell says nothing."""
    cell = pl.col(cells.name)
    quoted = pl.concat_str(pl.lit(f'{_encoded(cells.name)}: "'), cell, pl.lit('"'))
    if cells.str.contains(_ESCAPED).any():
        escaped = by_value(cells, _encoded, pl.String)
        quoted = pl.concat_str(pl.lit(f"{_encoded(cells.name)}: "), pl.lit(escaped))
    return pl.when(~cell.is_in(sorted(NOTHING))).then(quoted)


def _queue() -> Iterator[pl.Expr]:
    over = pl.coalesce(_STARTED, _ENDED)
    yield _SUBMITTED.alias("at_us")
    yield _event(EventKind.PHASE_START)
    yield pl.lit(str(Phase.QUEUE)).alias("phase")
    is_over = over.is_not_null() & ~_WAITS
    yield pl.when(is_over).then(pl.max_horizontal(_SUBMITTED, over)).alias("end_us")


def _last() -> Iterator[pl.Expr]:
    suspended = pl.col("suspended_seconds") * SECOND_US
    seen = _STARTED + pl.col("elapsed_seconds").fill_null(0) * SECOND_US + suspended
    has_ended = pl.col(STATE).is_in(sorted(ENDED))
    yield pl.when(_IS_LIVE).then(seen).otherwise(_ENDED).alias("at_us")
    kind = pl.when(has_ended).then(pl.lit(str(EventKind.ATTEMPT_END)))
    yield kind.otherwise(pl.lit(str(EventKind.ALIVE))).alias("event")
    yield pl.when(suspended != 0).then(suspended).alias("suspended_us")
    for name in _ENDING:
        if name.startswith("said_"):
            yield pl.when(has_ended).then(pl.col(name)).alias(name.removeprefix("said_"))


def _event(kind: EventKind) -> pl.Expr:
    return pl.lit(str(kind)).alias("event")


def _said(told: pl.DataFrame, name: str) -> pl.Expr:
    """The cell where it says something; null where the table has no such column."""
    if name not in told.columns:
        return pl.lit(None, dtype=pl.String)
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _of(told: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    return told.select(name for name in names if name in told.columns)


def _ending(cells: Mapping[str, Any], reading: Reading, are_codes_whole: bool) -> dict[str, object]:
    """What a row's state, exit codes and reason say of its end, whenever that was."""
    told = told_by(Row(0, "", dict(cells)), reading, None, are_codes_whole=are_codes_whole)
    if not isinstance(told, Told) or told.out_of_memory:
        return {"is_known": False}
    end: Event = {}
    if told.state in ENDED:
        say_how(end, told)
    said = {f"said_{name}": value for name, value in end.items()}
    ran_in_no_time = Told(told.row, told.state, _NO_TIMES, told.exit, None).has_run
    return {"is_known": True, "ran_in_no_time": ran_in_no_time, **said}


def _gpus(cells: Mapping[str, Any]) -> dict[str, object]:
    row = Row(0, "", {name: cell for name, cell in cells.items() if isinstance(cell, str)})
    return dict(zip(_GPUS, gpus_of(row, cells["has_run"]), strict=True))


def _instants(cells: pl.DataFrame, name: str, zone: ZoneInfo) -> pl.Series:
    if name not in cells.columns:
        return _nothing(cells)
    return by_hour(cells[name], partial(_instant, zone=zone), SECOND_US)


def _instant(text: str, zone: ZoneInfo) -> int | None:
    """None also where a cell can mean two: then its row is read alone."""
    try:
        told = instants(text, zone)
    except ValueError:
        return None
    return told[0] if len(told) == 1 else None


def _lengths(cells: pl.DataFrame) -> Iterator[pl.Expr]:
    elapsed, suspended = (
        by_hour(cells[name], seconds, 1) if name in cells.columns else _nothing(cells)
        for name in ("Elapsed", "Suspended")
    )
    if "ElapsedRaw" in cells.columns:
        raw = by_value(cells["ElapsedRaw"], raw_seconds, pl.Int64)
        elapsed = elapsed.zip_with(elapsed.is_not_null(), raw)
    yield pl.lit(elapsed).alias("elapsed_seconds")
    missing = (_ENDED - _STARTED) // SECOND_US - pl.lit(elapsed)
    missing = pl.when(missing < 0).then(0).otherwise(missing)
    yield pl.coalesce(pl.lit(suspended), missing, 0).alias("suspended_seconds")


def _nothing(cells: pl.DataFrame) -> pl.Series:
    return pl.Series([None], dtype=pl.Int64).new_from_index(0, cells.height)
