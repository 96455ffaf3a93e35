"""One batch of dumps into the warehouse, in one transaction: events, rejects, ledger and facts.

After `kill -9` a batch is wholly there or wholly not. Publishes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from ingest import (
    clocks,
    doubts,
    dumps,
    explain,
    facts,
    judged,
    ledger,
    links,
    native,
    plan,
    rejects,
    retention,
    store,
    text,
    unpacking,
    usual,
)
from ingest.collectors.base import Reading
from ingest.errors import UnreadableDump
from ingest.events import Rejected
from ingest.faults import fault
from ingest.ledger import Incoming, Numbered
from ingest.moment import Moment
from ingest.settings import Settings
from ingest.warehouse import Warehouse, scratch
from queries import model

if TYPE_CHECKING:
    from ingest.usual_lines import LeftOver

_TOGETHER_BYTES = 128 * 1024 * 1024  # smaller native files are parsed in one statement
_FEW_BYTES = 1024 * 1024  # what smaller texts tell goes into one table: each costs every statement
_SET_ASIDE_AT_ONCE = 50_000  # lines, of two thousand characters at the most
_SMALL_WAREHOUSE_BYTES = 16 * 1024 * 1024
# passes of the optimizer that take longer over small tables than they save
_FOR_MANY_ROWS = "join_order,statistics_propagation,common_subplan,join_filter_pushdown"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What one file brought. `unreadable` says why it brought nothing at all.

    `is_mute`: every line of it was set aside. No event may also mean that all were known.
    `most_gpus`: of a job or attempt; None where it tells of none. `late`: events that were left
    out, because those of their jobs were pruned.
    """

    file_no: int
    name: str
    events: int
    rejected: dict[str, int]
    unreadable: str | None = None
    is_mute: bool = False
    most_gpus: int | None = None
    late: int = 0


@dataclass(frozen=True, slots=True)
class _Parsed:
    """Rows that one or more dumps gave, before they are told apart from known ones."""

    select: str
    forget: Callable[[], object]
    release: Callable[[], object] = lambda: None  # what it holds in memory, once the rows are kept
    holds_many: bool = False


def load_batch(
    warehouse: Warehouse,
    batch: Sequence[Incoming],
    reading: Reading,
    settings: Settings,
    moment: Moment,
    advance: Callable[[int], None],
    *,
    is_dry: bool = False,
) -> tuple[list[Loaded], set[int]]:
    """Load a batch and recompute what it touches. All or nothing; `advance` is told bytes read.

    Returns what each file brought, and numbers of the jobs that had news. A dry run reads
    everything, counts, and keeps nothing; it knows jobs by their names only, and warns of what
    needs no facts.
    """
    connection = warehouse.connection
    _use_engine(warehouse, batch)
    if not is_dry:
        model.parse_beside()
    rejects.begin(connection)
    numbered = ledger.number(connection, scratch(warehouse.folder) / "in", batch, reading)
    # outside the transaction: a dump that cannot be read to its end would abort it
    memory = settings.storage.memory_bytes
    with _parts() as parsed:
        unreadable = _parse(
            connection, warehouse.folder, numbered, reading, moment, memory, advance, parsed
        )
        connection.execute("begin")
        try:
            loaded = _load(connection, numbered, parsed, unreadable, reading, settings, moment)
            if is_dry:
                jobs = store.batch_jobs(connection)
                links.note(connection, loaded[0].file_no)
                doubts.say_of_dumps(connection, loaded[0].file_no)
            else:
                judged.note_unexplained(connection, settings.failure_rules, loaded[0].file_no)
                _join_pieces(connection, numbered)
                may_revive = clocks.part(connection)
                facts.refresh(warehouse, settings, loaded[0].file_no, may_revive=may_revive)
                jobs = facts.told_jobs(connection)
                doubts.say(connection, loaded[0].file_no)
        except BaseException:
            connection.execute("rollback")
            raise
        connection.execute("rollback" if is_dry else "commit")
    return loaded, jobs


@contextmanager
def _parts() -> Iterator[list[_Parsed]]:
    """What is parsed meanwhile. It goes at the end, at a bad one too: others may need the room."""
    parsed: list[_Parsed] = []
    try:
        yield parsed
    except BaseException:
        with suppress(duckdb.Error):  # of an engine that stopped nothing is left
            _forget(parsed)
        raise
    _forget(parsed)


def _forget(parsed: Sequence[_Parsed]) -> None:
    for one in parsed:
        one.forget()


def move_clocks(
    warehouse: Warehouse,
    file_nos: Sequence[int],
    fresh: Sequence[int],
    settings: Settings,
    as_of_us: int,
) -> None:
    """Let the sources of known dumps reach `--as-of` though they say nothing new. `fresh`: what was
    loaded beside them.
    """
    connection = warehouse.connection
    connection.execute("begin")
    try:
        ledger.move_clocks(connection, file_nos, fresh, as_of_us)
        clocks.part(connection)
        facts.move_on(warehouse, settings, file_nos)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _use_engine(warehouse: Warehouse, batch: Sequence[Incoming]) -> None:
    """Where there is little to do, one thread and no search for the best plans: of such work a
    tenth is threads that wake each other, and a seventh is spent on plans that gain nothing.
    """
    is_little = (
        sum(map(plan.weight, batch)) < _FEW_BYTES
        and (warehouse.folder / "warehouse.duckdb").stat().st_size < _SMALL_WAREHOUSE_BYTES
    )
    warehouse.connection.execute("set threads = 1" if is_little else "reset threads")
    warehouse.connection.execute(
        f"set disabled_optimizers = '{_FOR_MANY_ROWS}'"
        if is_little
        else "reset disabled_optimizers"
    )


def _parse(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    numbered: Sequence[Numbered],
    reading: Reading,
    moment: Moment,
    memory: int,
    advance: Callable[[int], None],
    parsed: list[_Parsed],
) -> dict[int, str]:
    """Add the rows of all dumps to `parsed`. Returns why some gave none. The engine may take
    `memory` bytes.
    """
    unreadable: dict[int, str] = {}
    for group in _groups(numbered):
        if group[0].incoming.format.collector is None:
            parsed += _parse_native(connection, folder, group, reading, moment, memory, unreadable)
            advance(sum(one.incoming.file.bytes for one in group))
        else:
            parsed.append(_parse_texts(connection, group, reading, moment, unreadable, advance))
    return unreadable


def _load(
    connection: duckdb.DuckDBPyConnection,
    numbered: Sequence[Numbered],
    parsed: Sequence[_Parsed],
    unreadable: dict[int, str],
    reading: Reading,
    settings: Settings,
    moment: Moment,
) -> list[Loaded]:
    store.gather(connection, [one.select for one in parsed])
    readable = [one for one in numbered if one.file_no not in unreadable]
    mute = rejects.mute(connection)
    ledger.enter(connection, readable, reading, moment, mute)
    if any(one.incoming.format.collector is not None for one in readable):
        clocks.note_clusters(connection)
    ledger.forget_mute(connection, readable)
    ledger.forget_shorter(connection, readable)
    store.deduplicate(connection)
    late = retention.turn_away(
        connection,
        [one.file_no for one in readable if one.incoming.follows is None],
        [one.incoming.grown_from for one in readable if one.incoming.grown_from is not None],
    )
    judged.judge(connection, settings.failure_rules)
    store.keep(connection, holds_many=any(one.holds_many for one in parsed))
    judged.forget(connection)
    connection.execute("insert into batch_jobs from forgotten_jobs except from batch_jobs")
    rejects.forget_told(connection, [one.file_no for one in readable if _is_new(one.incoming)])
    ledger.count(connection)
    rejects.shift(
        connection,
        {one.file_no: one.incoming.follows.lines for one in readable if one.incoming.follows},
    )
    rejects.keep(connection, {one.file_no: one.incoming.grown_from for one in readable})
    loaded = _loaded(connection, numbered, unreadable, mute, late)
    connection.execute("drop view batch")
    for one in parsed:
        one.release()
    return loaded


def _is_new(one: Incoming) -> bool:
    """Whether it is neither a piece of a dump nor one that grew."""
    return one.follows is None and one.grown_from is None


def _join_pieces(connection: duckdb.DuckDBPyConnection, numbered: Sequence[Numbered]) -> None:
    if any(one.incoming.follows for one in numbered):
        # the facts look for links of a batch under the numbers that its dumps have now
        links.note(connection, numbered[0].file_no)
        ledger.join_pieces(connection, numbered)


def _groups(numbered: Sequence[Numbered]) -> Iterator[list[Numbered]]:
    """Small native dumps of one compression and source together, small texts, others alone."""
    together: dict[tuple[str, int], list[Numbered]] = {}
    texts: list[Numbered] = []
    for one in numbered:
        file = one.incoming.file
        if one.incoming.format.collector is not None and file.bytes < _FEW_BYTES:
            texts.append(one)
        elif (
            one.incoming.format.collector is None
            and file.bytes < _TOGETHER_BYTES
            and not one.incoming.fingerprint.needs_mending
        ):
            together.setdefault((file.compression, one.source_no), []).append(one)
        else:
            yield [one]
    yield from together.values()
    if texts:
        yield texts


def _parse_native(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    group: list[Numbered],
    reading: Reading,
    moment: Moment,
    memory: int,
    unreadable: dict[int, str],
) -> list[_Parsed]:
    newest = rejects.newest(connection)
    try:
        return [_parse_at_once(connection, folder, group, reading, moment, memory)]
    except (duckdb.Error, UnreadableDump):
        connection.abort()  # a result that broke off holds the connection
        native.forget(connection, [_native_file(group[0], reading)])
        rejects.take_back(connection, newest)
    if len(group) > 1:
        return [
            each
            for one in group
            for each in _parse_native(
                connection, folder, [one], reading, moment, memory, unreadable
            )
        ]
    try:
        return [_parse_mended(connection, folder, group[0], reading, moment)]
    except UnreadableDump as error:
        rejects.take_back(connection, newest)
        unreadable[group[0].file_no] = str(error)
        return []
    except duckdb.Error:
        connection.abort()
        native.forget(connection, [_native_file(group[0], reading)])
        raise


def _parse_at_once(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    group: list[Numbered],
    reading: Reading,
    moment: Moment,
    memory: int,
) -> _Parsed:
    first = group[0]
    if first.incoming.fingerprint.needs_mending:
        return _parse_mended(connection, folder, first, reading, moment)
    files = [_native_file(one, reading) for one in group]
    # the engine unpacks several at once, and here one would be unpacked after the other
    is_one_stream = len(group) > 1 and first.incoming.file.compression != "none"
    bytes = sum(one.incoming.file.bytes for one in group)
    if usual.reads(bytes) and not is_one_stream:
        parsed = _parse_usual(connection, folder, group, files, moment, memory)
        if parsed is not None:
            return parsed
    for one in group:
        _refuse_damaged(one)
    return _parse_files(connection, group, files, moment)


def _refuse_damaged(one: Numbered) -> None:
    """Before the engine unpacks what `plan` left to who takes usual lines."""
    file = one.incoming.file
    if not usual.reads(file.bytes):
        return
    try:
        unpacking.refuse_damaged(file)
    except UnreadableDump as error:
        raise UnreadableDump(f"{file.name} cannot be read: {error}") from None


def _parse_mended(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    one: Numbered,
    reading: Reading,
    moment: Moment,
) -> _Parsed:
    one.incoming.fingerprint.wait()  # raises where it cannot be read to its end
    _refuse_damaged(one)
    files = [_mended(connection, folder, one, _native_file(one, reading))]
    return _parse_files(connection, [one], files, moment)


def _parse_files(
    connection: duckdb.DuckDBPyConnection,
    group: list[Numbered],
    files: list[native.NativeFile],
    moment: Moment,
) -> _Parsed:
    _load_native(connection, group, files, moment)
    select = native.good_rows(connection, files)
    return _Parsed(select, lambda: native.forget(connection, files))


def _parse_usual(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    group: list[Numbered],
    files: list[native.NativeFile],
    moment: Moment,
    memory: int,
) -> _Parsed | None:
    """The usual lines of large or many dumps at once, the others as those of any dump.

    None: most lines are others, or one cannot be read to its end.
    """
    numbers = [one.file_no for one in group]
    rows = usual.Rows(numbers, files[0].source_no, files[0].cluster)
    found = [
        replace(one.incoming.file, path=file.path) for one, file in zip(group, files, strict=True)
    ]
    copies = scratch(folder) / "in"
    try:
        left_overs = usual.take(connection, rows, found, copies, moment.latest_us, memory)
        _wait(group)
        if left_overs is None:
            return None
        others = _others(files, left_overs)
        positions = {one.file_no: one.numbers() for one in left_overs}
        _load_native(connection, group, others, moment, positions)
    except (OSError, duckdb.Error, UnreadableDump):
        usual.forget(connection, rows)
        _wait(group)  # raises where it is a dump that cannot be read
        raise
    for file in others:
        file.path.unlink()

    def forget() -> None:
        usual.forget(connection, rows)
        native.forget(connection, others)

    return _Parsed(
        f"{usual.good_rows(rows)} union all by name {native.good_rows(connection, others)}",
        forget,
        lambda: usual.release(rows),
        holds_many=True,
    )


def _wait(group: Sequence[Numbered]) -> None:
    for one in group:
        one.incoming.fingerprint.wait()


def _others(
    files: Sequence[native.NativeFile], left_overs: Sequence[LeftOver]
) -> list[native.NativeFile]:
    """The lines that were left over as dumps of their own: at least one, that may have none."""
    others = [
        replace(file, path=each.path, compression="none", key_marks=each.key_marks)
        for file, each in zip(files, left_overs, strict=True)
        if not each.is_empty
    ]
    if not others:
        left_overs[0].path.touch()
        others = [replace(files[0], path=left_overs[0].path, compression="none", key_marks=0)]
    return others


def _load_native(
    connection: duckdb.DuckDBPyConnection,
    group: list[Numbered],
    files: list[native.NativeFile],
    moment: Moment,
    numbers: Mapping[int, explain.Positions] | None = None,
) -> None:
    """Load dumps, and set their lines aside that are no events.

    `numbers`: which lines of each dump these lines are.
    """
    newest = rejects.newest(connection)
    looked_for = native.load(connection, files, moment.latest_us)
    bad_marks = _explain(connection, group, files, moment, numbers)
    if native.load_missed(connection, files, moment.latest_us, looked_for, bad_marks):
        rejects.take_back(connection, newest)
        _explain(connection, group, files, moment, numbers)


def _native_file(one: Numbered, reading: Reading) -> native.NativeFile:
    incoming = one.incoming
    return native.NativeFile(
        one.file_no,
        one.source_no,
        one.safe_path,
        incoming.file.compression,
        incoming.fingerprint.key_marks,
        reading.cluster,
    )


def _mended(
    connection: duckdb.DuckDBPyConnection, folder: Path, one: Numbered, file: native.NativeFile
) -> native.NativeFile:
    """A copy that DuckDB can read to its end: up to a break, long lines blanked and set aside.

    Line numbers stay those of the dump.
    """
    path = scratch(folder) / "in" / f"mended-{one.file_no}"
    broken: list[dumps.Truncated] = []
    with path.open("wb") as copy:
        for number, line in dumps.lines(one.incoming.file, broken.append):
            if len(line) > dumps.LONGEST_LINE:
                rejected = explain.explain(number, line, 0)
                rejects.add(connection, one.file_no, [rejected])
                line = b""
            copy.write(line + b"\n")
    rejects.add_breaks(connection, one.file_no, broken)
    return replace(file, path=path, compression="none", key_marks=None)


def _explain(
    connection: duckdb.DuckDBPyConnection,
    group: list[Numbered],
    files: list[native.NativeFile],
    moment: Moment,
    numbers: Mapping[int, explain.Positions] | None,
) -> int | None:
    """Set the bad lines of dumps aside. Returns how many JSON keys they could hold, if known."""
    numbered = {one.file_no: one for one in group}
    paths = {file.file_no: file for file in files}
    marks: list[int | None] = []
    for file_no, ordinals in native.bad_ordinals(connection, files).items():
        dump = replace(
            numbered[file_no].incoming.file,
            path=paths[file_no].path,
            compression=paths[file_no].compression,
        )
        found: list[Rejected] = []
        with dumps.opened(dump) as stream:
            for some in explain.bad_lines(stream, ordinals, moment.latest_us):
                marks.append(some.key_marks)
                own = None if numbers is None else numbers[file_no]
                found += some.rejected if own is None else _numbered(some.rejected, own)
                if len(found) >= _SET_ASIDE_AT_ONCE:
                    rejects.add(connection, file_no, found)
                    found = []
        rejects.add(connection, file_no, found)
    return None if None in marks else sum(mark or 0 for mark in marks)


def _numbered(rejected: list[Rejected], numbers: explain.Positions) -> list[Rejected]:
    return [replace(one, line_number=int(numbers[one.line_number - 1])) for one in rejected]


def _parse_texts(
    connection: duckdb.DuckDBPyConnection,
    group: Sequence[Numbered],
    reading: Reading,
    moment: Moment,
    unreadable: dict[int, str],
    advance: Callable[[int], None],
) -> _Parsed:
    table = f"parsed_{group[0].file_no}"
    told = text.Rows(connection, table)
    for one in group:
        collector = one.incoming.format.collector
        assert collector is not None
        target = text.Target(told, one.file_no, one.source_no)
        try:
            text.parse(
                target, collector, one.incoming.file, one.incoming.reading or reading, moment
            )
        except UnreadableDump as error:
            unreadable[one.file_no] = str(error)
        advance(one.incoming.file.bytes)
    failed = told.finish()
    for one in group:
        if one.file_no in failed:
            file, collector = one.incoming.file, one.incoming.format.collector
            assert collector is not None
            unreadable[one.file_no] = fault(file.name, collector, failed[one.file_no])
    return _Parsed(
        text.good_rows(connection, table), lambda: connection.execute(f"drop table {table}")
    )


def _loaded(
    connection: duckdb.DuckDBPyConnection,
    numbered: Sequence[Numbered],
    unreadable: dict[int, str],
    mute: Container[int],
    late: Mapping[int, int],
) -> list[Loaded]:
    """What each dump brought."""
    events: dict[int, int] = dict(
        connection.execute(
            "select file_no, events from files where file_no >= ?", [numbered[0].file_no]
        ).fetchall()
    )
    rejected: dict[int, dict[str, int]] = defaultdict(dict)
    for file_no, reason, lines in connection.execute(
        "select file_no, reason, count(*) from rejects group by file_no, reason order by all"
    ).fetchall():
        rejected[file_no][reason] = lines
    most_gpus = store.most_gpus(connection)
    return [
        Loaded(
            one.file_no,
            one.incoming.file.name,
            events.get(one.file_no, 0),
            rejected[one.file_no],
            unreadable.get(one.file_no),
            one.file_no in mute,
            most_gpus.get(one.file_no),
            late.get(one.file_no, 0),
        )
        for one in numbered
    ]
