"""A dump that is read through a collector, as rows for the loader: there is no second path in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import duckdb
import polars as pl

from ingest import dumps, explain, fields, identity, rejects
from ingest.collectors.base import Collector, Dump, Reading
from ingest.events import Event, Reason, Rejected
from ingest.moment import Moment

# The fields of `Event` as columns; everything else about them is in `ingest.events`.
COLUMNS = {
    **dict.fromkeys(
        (
            "at_us",
            "end_us",
            "attempt",
            "rank",
            "step",
            "recompiles",
            "resumed_from_step",
            "exit_code",
            "signal",
            "samples",
            "gpus",
            "row_submitted_us",
            "suspended_us",
            "run_generation",
            "run_restart",
        ),
        pl.Int64(),
    ),
    **dict.fromkeys(
        (
            "event",
            "job_id",
            "event_id",
            "host",
            "allocation_id",
            "phase",
            "stage",
            "mode",
            "cache",
            "outcome",
            "message",
            "category",
            "component",
            "team",
            "user",
            "workload",
            "model",
            "cluster",
            "gpu_type",
            "priority",
            "preempted_by",
            "name",
            "partition",
            "description",
            "attrs",
            "row_key",
            "row_state",
            "scheduler_job",
            "run_key",
        ),
        pl.String(),
    ),
    "ok": pl.Boolean(),
}
_NAMES = {"job_id": "job_key", "user": "user_name", "partition": "partition_name"}
_TYPES = fields.ENUMS | {"ok": "boolean"}
_PLAIN_TIMES = ("at_us", "end_us")
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Target:
    """Where a dump's rows go: a temporary table that is made for it, and its numbers."""

    connection: duckdb.DuckDBPyConnection
    table: str
    file_no: int
    source_no: int


def parse(
    target: Target, collector: Collector, file: dumps.DumpFile, reading: Reading, moment: Moment
) -> None:
    """Read a dump into `target.table`, in bounded memory; what cannot be believed is set aside.

    Raises UnreadableDump where the collector finds no line to read; the table then is empty.
    """
    _create(target)
    broken: list[dumps.Truncated] = []
    path = None if file.name == "-" else file.path
    dump = Dump(file.name, path, lambda: _short_lines(target, file, broken))
    told = iter(_believed(collector, dump, reading, moment))
    while items := list(islice(told, _ROWS_AT_ONCE)):
        _append(target, [item for item in items if not isinstance(item, Rejected)], reading)
        rejects.add(
            target.connection,
            target.file_no,
            [_cut(item) for item in items if isinstance(item, Rejected)],
        )
    rejects.add_breaks(target.connection, target.file_no, broken)


def good_rows(table: str) -> str:
    """A select of the events in a table that `parse` filled, as `native.good_rows` gives it."""
    more = [
        _NAMES.get(name, name) for name in COLUMNS if name not in (*fields.PLAIN, *_PLAIN_TIMES)
    ]
    return (
        f"select *, {' or '.join(f'{name} is not null' for name in more)} as says_more from {table}"
    )


def _short_lines(
    target: Target, file: dumps.DumpFile, broken: list[dumps.Truncated]
) -> Iterator[tuple[int, bytes]]:
    """Lines as the collector gets them: one that is too long is set aside and comes empty."""
    for number, line in dumps.lines(file, broken.append):
        if len(line) <= dumps.LONGEST_LINE:
            yield number, line
            continue
        rejects.add(target.connection, target.file_no, [explain.explain(number, line, 0)])
        yield number, b""


def _believed(
    collector: Collector, dump: Dump, reading: Reading, moment: Moment
) -> Iterator[Event | Rejected]:
    told = collector.read(dump, reading)
    for item in identity.identified(reading.identity, dump.name, dump.path, told):
        if isinstance(item, Rejected):
            yield item
            continue
        oldest = item["at_us"]
        newest = max(oldest, item.get("end_us", oldest))
        if newest > moment.latest_us:
            yield _set_aside(item, Reason.FUTURE_TIME)
        elif oldest < fields.EARLIEST_US:
            yield _set_aside(item, Reason.BAD_TIMESTAMP)
        else:
            yield item


def _set_aside(event: Event, reason: Reason) -> Rejected:
    # the collector has read several lines into this event, so no single line can be named
    said = json.dumps(event, ensure_ascii=False, default=str)
    return Rejected(0, reason, f"{event['event']} of job {event.get('job_id')}", said)


def _cut(rejected: Rejected) -> Rejected:
    return replace(rejected, line=rejected.line[: explain.KEPT_CHARACTERS])


def _create(target: Target) -> None:
    kinds = {name: "bigint" if kind == pl.Int64() else "varchar" for name, kind in COLUMNS.items()}
    kinds |= _TYPES
    columns = ", ".join(f"{_NAMES.get(name, name)} {kind}" for name, kind in kinds.items())
    target.connection.execute(
        f"create or replace temp table {target.table} "
        f"(file_no integer, source_no integer, {columns})"
    )


def _append(target: Target, events: list[Event], reading: Reading) -> None:
    if not events:
        return
    frame = pl.from_dicts(events, schema=COLUMNS)
    columns = ", ".join(
        "coalesce(told.cluster, $cluster) as cluster"
        if name == "cluster"
        else f'told."{name}" as {_NAMES.get(name, name)}'
        for name in COLUMNS
    )
    target.connection.register("told", frame)
    target.connection.execute(
        f"insert into {target.table} by name select {target.file_no} as file_no, "
        f"{target.source_no} as source_no, {columns} from told",
        {"cluster": reading.cluster},
    )
    target.connection.unregister("told")
