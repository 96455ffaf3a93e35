"""A dump that is read through a collector, as rows for the loader: there is no second path in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, cast

import duckdb
import polars as pl

from ingest import dumps, explain, fields, identity, rejects, store
from ingest.collectors.base import Block, Collector, Dump, Line, Reading
from ingest.errors import UnreadableDump
from ingest.events import Event, Item, Reason, Rejected, events_of
from ingest.faults import FAULTS, fault
from ingest.moment import Moment
from queries.frames import lend

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
_ORIGINS = {"file_no": pl.Int32(), "source_no": pl.Int32(), "reader_cluster": pl.String()}
_NAMES = {"job_id": "job_key", "user": "user_name", "partition": "partition_name"}
_TYPES = fields.ENUMS | {"ok": "boolean"}
_PLAIN_TIMES = ("at_us", "end_us")
_OF_THE_DUMP = ("file_no", "source_no")
_ALWAYS_THERE = ("at_us", "end_us", "event", "job_id", "attempt", "name", "description", "cluster")
_CLUSTERS = ("cluster", "reader_cluster")  # the dump's own word is stronger than the reader's
_EVENTS_AT_ONCE = 20_000
_ROWS_A_TRANSACTION = 1_000_000  # memory that a transaction holds grows with its rows
BYTES_AT_ONCE = 8 * 1024 * 1024  # of lines that are read together
_FEWEST_BYTES = 400_000  # a smaller dump is told one by one before its first frame were made
_UNPACKED_RATIO = 8  # of a compressed log, about


class Rows:
    """A temporary table for what dumps tell; more columns come with their first values.

    Rows of small dumps wait until they are worth an insert: it costs more than most of them. Frames
    wait with those of like columns and types.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, table: str) -> None:
        self.connection = connection
        self._table = table
        self._events: list[_Told] = []
        self._frames: dict[_Schema, list[tuple[int, pl.DataFrame]]] = {}
        self._waiting = 0
        self._failed: dict[int, BaseException] = {}
        columns = ", ".join(map(_declared, _ALWAYS_THERE))
        connection.execute(
            f"create or replace temp table {table} (file_no integer, source_no integer, {columns})"
        )

    def add(self, origin: Origin, events: Sequence[Event], frames: Iterable[pl.DataFrame]) -> None:
        """Take what one dump tells."""
        self._events += [(origin, event) for event in events]
        self._waiting += len(events)
        for frame in frames:
            alike = self._frames.setdefault(tuple(frame.schema.items()), [])
            alike.append((origin.file_no, _of_origin(frame, origin)))
            self._waiting += frame.height
        if self._waiting >= _EVENTS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Insert what waits."""
        for frame in self._of_events():
            _append(self.connection, self._table, frame)
        for some in self._frames.values():
            _append(self.connection, self._table, pl.concat([frame for _, frame in some]))
        self._events.clear()
        self._frames.clear()
        self._waiting = 0

    def finish(self) -> dict[int, BaseException]:
        """Insert the last of it. Returns the dumps that told what is no row, and why: nothing of
        them is there.
        """
        self.flush()
        for file_no in self._failed:
            self.take_back(file_no)
        return self._failed

    def take_back(self, file_no: int) -> None:
        """Forget what one dump told, and what was set aside of it."""
        self._events = [told for told in self._events if told[0].file_no != file_no]
        left = {
            schema: [one for one in some if one[0] != file_no]
            for schema, some in self._frames.items()
        }
        self._frames = {schema: some for schema, some in left.items() if some}
        for table in (self._table, "rejects"):
            self.connection.execute(f"delete from {table} where file_no = ?", [file_no])

    def _of_events(self) -> Iterator[pl.DataFrame]:
        """The events that wait as rows; those of a dump that cannot become rows stop no other's."""
        try:
            together = _frame(self._events)
        except FAULTS:
            yield from self._of_each_dump()
        else:
            yield together

    def _of_each_dump(self) -> Iterator[pl.DataFrame]:
        for file_no, told in groupby(self._events, key=lambda one: one[0].file_no):
            try:
                alone = _frame(list(told))
            except FAULTS as error:
                self._failed[file_no] = error
            else:
                yield alone


class Origin(NamedTuple):
    """The dump that tells a row, and the cluster that its reader names where it names none."""

    file_no: int
    source_no: int
    reader_cluster: str | None


_Told = tuple[Origin, Event]
_Schema = tuple[tuple[str, pl.DataType], ...]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a dump's rows go, and the dump's numbers."""

    rows: Rows
    file_no: int
    source_no: int

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """What it is written through."""
        return self.rows.connection


def parse(
    target: Target, collector: Collector, file: dumps.DumpFile, reading: Reading, moment: Moment
) -> None:
    """Read a dump into `target.rows`, in bounded memory; what cannot be believed is set aside.

    Raises UnreadableDump where the collector finds no line to read, or fails at what it reads: of
    one file, that must not stop the others. No row of it is there then.
    """
    # transactions of many rows: what is appended is packed, and packed anew, with each
    target.connection.execute("begin")
    try:
        _parse(target, collector, file, reading, moment)
    except UnreadableDump:
        _take_back(target)
        raise
    except FAULTS as error:
        _take_back(target)
        raise UnreadableDump(fault(file.name, collector, error)) from error
    except BaseException:
        target.connection.execute("rollback")
        raise
    target.connection.execute("commit")


def _take_back(target: Target) -> None:
    target.rows.take_back(target.file_no)
    target.connection.execute("commit")


def good_rows(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A select of the events in a table that `parse` filled, as `native.good_rows` gives it."""
    plain = {*_OF_THE_DUMP, *(_NAMES.get(name, name) for name in (*fields.PLAIN, *_PLAIN_TIMES))}
    more = [name for name in store.columns_of(connection, table) if name not in plain]
    return (
        f"select *, {' or '.join(f'{name} is not null' for name in more)} as says_more from {table}"
    )


def _parse(
    target: Target, collector: Collector, file: dumps.DumpFile, reading: Reading, moment: Moment
) -> None:
    broken: list[dumps.Truncated] = []
    path = None if file.name == "-" else file.path
    dump = Dump(
        file.name,
        path,
        lambda: _short_lines(target, file, broken),
        lambda: _short_blocks(target, file, broken),
        lambda: dumps.blocks(file, lambda _: None, BYTES_AT_ONCE),
    )
    size = file.bytes * (1 if file.compression == "none" else _UNPACKED_RATIO)
    read_many = collector.read_many if size >= _FEWEST_BYTES else None
    told = (read_many or collector.read)(dump, reading)
    named = identity.identified(reading.identity, dump.name, dump.path, told)
    waiting = _Waiting(target, reading, moment)
    for item in named:
        waiting.take(item)
    waiting.flush()
    rejects.add_breaks(target.connection, target.file_no, broken)


def _short_lines(
    target: Target, file: dumps.DumpFile, broken: list[dumps.Truncated]
) -> Iterator[Line]:
    """Lines as the collector gets them: one that is too long is set aside and comes empty."""
    for first, block in _short_blocks(target, file, broken, dumps.BLOCK):
        yield from enumerate(block.split(b"\n"), first)


def _short_blocks(
    target: Target,
    file: dumps.DumpFile,
    broken: list[dumps.Truncated],
    size: int = BYTES_AT_ONCE,
) -> Iterator[Block]:
    for first, block in dumps.blocks(file, broken.append, size):
        if len(block) > dumps.LONGEST_LINE:
            lines = block.split(b"\n")
            for place, line in enumerate(lines):
                if len(line) > dumps.LONGEST_LINE:
                    too_long = explain.explain(first + place, line, 0)
                    rejects.add(target.connection, target.file_no, [too_long])
                    lines[place] = b""
            block = b"\n".join(lines)
        yield first, block


def _all_believed(events: Sequence[Event], moment: Moment) -> bool:
    """Whether no event need be asked for its own times: asking each costs more than most do."""
    begun = [event["at_us"] for event in events]
    ended = [event["end_us"] for event in events if "end_us" in event]
    latest = max(max(begun, default=0), max(ended, default=0))
    return (
        latest <= moment.latest_us and min(begun, default=fields.EARLIEST_US) >= fields.EARLIEST_US
    )


def _disbelief(event: Event, moment: Moment) -> Reason | None:
    oldest = event["at_us"]
    if max(oldest, event.get("end_us", oldest)) > moment.latest_us:
        return Reason.FUTURE_TIME
    return Reason.BAD_TIMESTAMP if oldest < fields.EARLIEST_US else None


def _believed_rows(frame: pl.DataFrame, moment: Moment) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The events of a frame that can be believed, and the others."""
    times = [pl.col(name) for name in _PLAIN_TIMES if name in frame.columns]
    is_believed = (pl.max_horizontal(times) <= moment.latest_us) & (
        pl.col("at_us") >= fields.EARLIEST_US
    )
    good = frame.filter(is_believed)
    return good, frame.clear() if good.height == frame.height else frame.filter(~is_believed)


def _set_aside(event: Event, reason: Reason) -> Rejected:
    # the collector has read several lines into this event, so no single line can be named
    said = json.dumps(event, ensure_ascii=False, default=str)
    return Rejected(0, reason, f"{event['event']} of job {event.get('job_id')}", said)


def _cut(rejected: Rejected) -> Rejected:
    return replace(rejected, line=rejected.line[: explain.KEPT_CHARACTERS])


def _declared(name: str) -> str:
    kind = "bigint" if COLUMNS[name] == pl.Int64() else "varchar"
    return f"{_NAMES.get(name, name)} {_TYPES.get(name, kind)}"


@dataclass(slots=True)
class _Waiting:
    """What one dump told until it is worth looking at whether it can be believed."""

    target: Target
    reading: Reading
    moment: Moment
    _events: list[Event] = field(default_factory=list)
    _rejected: list[Rejected] = field(default_factory=list)
    _frames: list[pl.DataFrame] = field(default_factory=list)
    _rows: int = 0
    _uncommitted: int = 0

    def take(self, item: Item) -> None:
        if isinstance(item, pl.DataFrame):
            good, others = _believed_rows(item, self.moment)
            self._frames.append(good)
            self._rows += good.height
            self._events += events_of(others)
        elif isinstance(item, Rejected):
            self._rejected.append(_cut(item))
        else:
            self._events.append(item)
        if self._rows + len(self._events) + len(self._rejected) >= _EVENTS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        target = self.target
        events = self._believed_events()
        rejects.add(target.connection, target.file_no, self._rejected)
        origin = Origin(target.file_no, target.source_no, self.reading.cluster)
        target.rows.add(origin, events, self._frames)
        self._uncommitted += len(events) + self._rows
        if self._uncommitted >= _ROWS_A_TRANSACTION:
            target.connection.execute("commit")
            target.connection.execute("begin")
            self._uncommitted = 0
        self._events.clear()
        self._rejected.clear()
        self._frames.clear()
        self._rows = 0

    def _believed_events(self) -> list[Event]:
        """What waits and can be believed; the rest waits with what is set aside."""
        if _all_believed(self._events, self.moment):
            return self._events
        believed = []
        for event in self._events:
            if reason := _disbelief(event, self.moment):
                self._rejected.append(_cut(_set_aside(event, reason)))
            else:
                believed.append(event)
        return believed


def _frame(told: Sequence[_Told]) -> pl.DataFrame:
    """Events as rows. Those with the same fields become columns together, so that nobody is asked
    for what it does not say.
    """
    alike: dict[tuple[str, ...], list[_Told]] = {}
    for one in told:
        alike.setdefault(tuple(one[1]), []).append(one)
    frames = [_frame_of(names, some) for names, some in alike.items()]
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


def _frame_of(names: Sequence[str], told: Sequence[_Told]) -> pl.DataFrame:
    rows = cast(Sequence[Mapping[str, object]], [event for _, event in told])
    origins = {
        name: [origin[place] for origin, _ in told] for place, name in enumerate(Origin._fields)
    }
    return pl.DataFrame(
        origins | {name: [row[name] for row in rows] for name in names},
        schema=_ORIGINS | {name: COLUMNS[name] for name in names},
    )


def _of_origin(frame: pl.DataFrame, origin: Origin) -> pl.DataFrame:
    return frame.with_columns(
        pl.lit(value, _ORIGINS[name]).alias(name)
        for name, value in zip(Origin._fields, origin, strict=True)
    )


def _append(connection: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    """A column comes when the first of its values does: one that stays empty costs as much."""
    frame = frame.select(column for column in frame if column.null_count() < frame.height)
    if frame.is_empty():
        return
    names = [name for name in frame.columns if name not in _CLUSTERS]
    there = store.columns_of(connection, table)
    for name in names:
        if _NAMES.get(name, name) not in there:
            connection.execute(f"alter table {table} add column {_declared(name)}")
    told = [f'told."{name}" as {_NAMES.get(name, name)}' for name in names]
    if clusters := [f"told.{name}" for name in _CLUSTERS if name in frame.columns]:
        told.append(f"coalesce({', '.join(clusters)}) as cluster")
    lend(connection, "told", frame)
    connection.execute(f"insert into {table} by name select {', '.join(told)} from told")
    connection.unregister("told")
