"""Which dumps were loaded, from which source, and how far each source has got."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest import dumps
from ingest.collectors.base import Reading
from ingest.formats import Format
from ingest.moment import Moment

MUTE = "events = 0 and rejected > 0 and clock_us is null"  # all that it told was set aside


@dataclass(frozen=True, slots=True)
class Follows:
    """What a piece of a growing file comes after: the ledger's row, and that many whole lines.

    `bytes` is how long the file is with the piece. No `file_no`: it is the first piece.
    """

    file_no: int | None
    bytes: int
    lines: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """A dump that is to be loaded: its file, its format, and what reading it once told.

    `grown_from` is the ledger's number of the same file when it was shorter, or was taken for
    another format and told nothing. Of a piece, `file` is a copy of the piece alone; the
    fingerprint's sha256 is of all up to its end. `reading`: how a dump is read that is not read as
    those beside it in its batch.
    """

    file: dumps.DumpFile
    format: Format
    fingerprint: dumps.Fingerprint
    grown_from: int | None
    follows: Follows | None = None
    reading: Reading | None = None


@dataclass(frozen=True, slots=True)
class Numbered:
    """An incoming dump with its numbers in the warehouse and a path that is safe in SQL."""

    incoming: Incoming
    file_no: int
    source_no: int
    safe_path: Path


def number(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    batch: Sequence[Incoming],
    reading: Reading,
) -> list[Numbered]:
    """Give each dump its numbers, and a link in `folder` under a name that ends in its number.

    Writes nothing yet.
    """
    row = connection.execute("select coalesce(max(file_no), 0) from files").fetchone()
    first = (int(row[0]) if row else 0) + 1
    folder.mkdir(parents=True, exist_ok=True)
    sources: dict[str, int] = dict(
        connection.execute("select source, source_no from sources").fetchall()
    )
    numbered = []
    for file_no, incoming in enumerate(batch, first):
        safe = folder / f"in-{file_no}"
        safe.unlink(missing_ok=True)
        safe.symlink_to(incoming.file.path.resolve())
        source = _source(incoming.format, incoming.reading or reading)
        source_no = sources.setdefault(source, len(sources) + 1)
        numbered.append(Numbered(incoming, file_no, source_no, safe))
    return numbered


def enter(
    connection: duckdb.DuckDBPyConnection,
    numbered: Sequence[Numbered],
    reading: Reading,
    moment: Moment,
    mute: Container[int],
) -> None:
    """One row a dump, with its clock: the newest time in it, or the later `--as-of`.

    Reads the view `batch`; the clocks of its sources move on, to now at the latest: a host whose
    clock is ahead must not end what others run. A `mute` dump told nothing, so it
    reaches to no moment: that a job is not in it does not make the job lost. Of several dumps of a
    source the newest was taken at that moment: it still decides between what they tell.
    """
    if not numbered:
        return
    for one in {one.source_no: one for one in numbered}.values():
        _enter_source(connection, one, one.incoming.reading or reading)
    # one statement for all: of thousands of small dumps each would wait for one of its own
    connection.execute(
        "with clocks as (select file_no, max(greatest(at_us, end_us)) as clock_us, "
        "count(*) as told from batch group by file_no), dumps as ("
        "select unnest($file_nos) as file_no, unnest($names) as name, "
        "unnest($formats) as format, unnest($source_nos) as source_no, "
        "unnest($bytes) as bytes, unnest($digests) as sha256, "
        "unnest($clusters::varchar[]) as cluster, unnest($zones) as time_zone, "
        "unnest($as_of::bigint[]) as as_of_us) "
        "insert into files select dumps.file_no, name, format, cluster, source_no, bytes, sha256, "
        "case when rank() over (partition by source_no "
        "order by as_of_us is null, clock_us desc nulls last) = 1 "
        "then greatest(clock_us, as_of_us) else clock_us end, "
        "0, 0, $now, coalesce(told, 0), time_zone, null, "
        "greatest(case when clock_us > $reach_us then $reach_us else clock_us end, as_of_us) "
        "from dumps left join clocks on dumps.file_no = clocks.file_no order by dumps.file_no",
        {
            "file_nos": [one.file_no for one in numbered],
            "names": [one.incoming.file.place for one in numbered],
            "formats": [one.incoming.format.name for one in numbered],
            "source_nos": [one.source_no for one in numbered],
            "bytes": [_whole_bytes(one.incoming) for one in numbered],
            "digests": [one.incoming.fingerprint.sha256 for one in numbered],
            "clusters": [(one.incoming.reading or reading).cluster for one in numbered],
            "zones": [(one.incoming.reading or reading).timezone.key for one in numbered],
            "as_of": [None if one.file_no in mute else moment.as_of_us for one in numbered],
            "now": moment.now,
            "reach_us": moment.reach_us,
        },
    )
    connection.execute(
        "update sources set clock_us = greatest(sources.clock_us, "
        "case when told.clock_us > $reach_us then $reach_us else told.clock_us end) from "
        "(select source_no, max(clock_us) as clock_us from files where file_no >= $first_no "
        "group by source_no) as told where sources.source_no = told.source_no",
        {"first_no": numbered[0].file_no, "reach_us": moment.reach_us},
    )


def count(connection: duckdb.DuckDBPyConnection) -> None:
    """Write into the ledger how many new events and set-aside lines each dump of the batch had."""
    for column, table in (("events", "batch"), ("rejected", "rejects")):
        connection.execute(
            f"update files set {column} = told.lines from "
            f"(select file_no, count(*) as lines from {table} group by file_no) as told "
            "where files.file_no = told.file_no"
        )


def copies(
    connection: duckdb.DuckDBPyConnection, since_file_no: int
) -> list[tuple[str, str, int, int]]:
    """Dumps from this number on that tell of other jobs than another dump which has their content,
    each with that other one, and a job of each: their places name two jobs.
    """
    pairs = connection.execute(
        "select copy.file_no, files.file_no, copy.file, files.file from files as copy "
        "inner join files on copy.sha256 = files.sha256 and copy.bytes = files.bytes "
        "and copy.file_no > files.file_no where copy.file_no >= $1 and copy.events > 0 "
        "and files.events > 0 order by copy.file, files.file",
        [since_file_no],
    ).fetchall()
    numbers = {number for pair in pairs for number in pair[:2]}
    jobs = {number: _jobs_of(connection, number) for number in numbers}
    return [
        (copy, file, min(jobs[copy_no]), min(jobs[file_no]))
        for copy_no, file_no, copy, file in pairs
        # ranks with logs of their own may write the same words
        if jobs[copy_no] and jobs[file_no] and not jobs[copy_no] & jobs[file_no]
    ]


def _jobs_of(connection: duckdb.DuckDBPyConnection, file_no: int) -> set[int]:
    told = connection.execute(
        "select distinct job_no from events where file_no = $1 and job_no is not null", [file_no]
    )
    return {job_no for (job_no,) in told.fetchall()}


def told_otherwise(
    connection: duckdb.DuckDBPyConnection, since_file_no: int
) -> list[tuple[str, int | None]]:
    """Texts from this number on, by name and a job of theirs, that were loaded under that name
    before, in words that they do not begin with, and tell a part of that again: whether it is that
    log, which has grown, is not known. A scheduler's table is made anew each time, and a native
    line stands for itself.
    """
    return connection.execute(
        "with told as (select distinct fresh.file, fresh.file_no from files as fresh "
        "inner join files on fresh.file = files.file and fresh.format = files.format "
        "and fresh.file_no > files.file_no where fresh.file_no >= $1 "
        "and fresh.events between 1 and fresh.told - 1 and files.events > 0 "
        "and fresh.format <> 'events' and fresh.format not like 'slurm-%') "
        "select told.file, min(events.job_no) from told "
        "inner join events on told.file_no = events.file_no group by told.file order by all",
        [since_file_no],
    ).fetchall()


def forget_mute(connection: duckdb.DuckDBPyConnection, numbered: Sequence[Numbered]) -> None:
    """Forget the rows of files that told nothing and are read anew: shorter, or as what they were
    not.
    """
    anew = [one.incoming.grown_from for one in numbered if one.incoming.grown_from is not None]
    if anew:
        connection.execute(f"delete from files where list_contains(?, file_no) and {MUTE}", [anew])


def forget_shorter(connection: duckdb.DuckDBPyConnection, numbered: Sequence[Numbered]) -> None:
    """Forget what texts told when they were shorter, and their rows: the whole tells it anew.

    Read to a half, a log may tell of a save that never ends. `forgotten_jobs` are the jobs that
    were told of, `forgotten_ends` what may have been counted as unexplained. A native dump is not
    among these: each of its lines stands for itself.
    """
    grown = [
        one
        for one in numbered
        if one.incoming.grown_from is not None and one.incoming.format.collector is not None
    ]
    shorter = [one.incoming.grown_from for one in grown]
    connection.execute("create or replace temp table forgotten_jobs (job_key varchar)")
    mine = "list_contains(?, file_no)" if shorter else "? is null"
    connection.execute(
        "create or replace temp table forgotten_ends as select * from told_events "
        f"where event in ('failure', 'attempt_end') and {mine}",
        [shorter],
    )
    if not shorter:
        return
    for table in ("plain_events", "told_events"):
        connection.execute(
            "insert into forgotten_jobs select distinct job_key from job_keys where job_no in "
            f"(select job_no from {table} where list_contains(?, file_no))",
            [shorter],
        )
        connection.execute(f"delete from {table} where list_contains(?, file_no)", [shorter])
    connection.execute(
        # it was taken at the moment that an earlier --as-of gave: that it grew takes nothing back
        "update files set reach_us = greatest(files.reach_us, shorter.reach_us) from "
        "(select unnest($1) as file_no, unnest($2) as of_no) as grown "
        "inner join files as shorter on grown.of_no = shorter.file_no "
        "where files.file_no = grown.file_no",
        [[one.file_no for one in grown], shorter],
    )
    connection.execute("delete from files where list_contains(?, file_no)", [shorter])


def join_pieces(connection: duckdb.DuckDBPyConnection, numbered: Sequence[Numbered]) -> None:
    """Let the pieces of growing files be part of the rows that those files have already.

    Else a log that is followed for a year would have a row for every look at it. Before the facts
    are computed: they name the dump of a cause. Costs what the pieces hold.
    """
    pieces = [
        (one.file_no, one.incoming.follows.file_no, one.incoming.follows.lines)
        for one in numbered
        if one.incoming.follows is not None and one.incoming.follows.file_no is not None
    ]
    if not pieces:
        return
    connection.execute(
        "create or replace temp table pieces (file_no integer, of_no integer, lines bigint)"
    )
    connection.executemany("insert into pieces values (?, ?, ?)", pieces)
    connection.execute(
        # a last line without its end is read again once it has one
        "delete from rejected_lines using pieces "
        "where rejected_lines.file_no = of_no and line_number > lines"
    )
    first = pieces[0][0]
    for table in ("plain_events", "told_events", "rejected_lines"):
        connection.execute(
            f"update {table} set file_no = of_no from pieces "
            f"where {table}.file_no >= {first} and {table}.file_no = pieces.file_no"
        )
    connection.execute(
        "update files set bytes = fresh.bytes, sha256 = fresh.sha256, "
        "clock_us = greatest(files.clock_us, fresh.clock_us), "
        "reach_us = greatest(files.reach_us, fresh.reach_us), "
        "events = files.events + fresh.events, told = files.told + fresh.told, "
        "ingested_at = fresh.ingested_at, "
        "rejected = (select count(*) from rejected_lines where rejected_lines.file_no = of_no) "
        "from pieces inner join files as fresh on pieces.file_no = fresh.file_no "
        "where files.file_no = of_no"
    )
    connection.execute("delete from files where file_no in (select file_no from pieces)")
    connection.execute("drop table pieces")


def move_clocks(
    connection: duckdb.DuckDBPyConnection,
    file_nos: Sequence[int],
    fresh: Sequence[int],
    as_of_us: int,
) -> None:
    """Let known dumps and their sources reach a later moment.

    A scheduler's dump was taken at the moment it reaches to: that decides between tellings. So of
    each source only the newest of these dumps does, and none where `fresh` ones came with them.
    """
    chosen = {"as_of_us": as_of_us, "file_nos": list(file_nos)}
    connection.execute(
        "update sources set clock_us = greatest(clock_us, $as_of_us) where source_no in "
        "(select source_no from files where list_contains($file_nos, file_no))",
        chosen,
    )
    connection.execute(
        "update files set reach_us = greatest(coalesce(reach_us, clock_us), $as_of_us) "
        "where list_contains($file_nos, file_no)",
        chosen,
    )
    connection.execute(
        "update files set clock_us = greatest(files.clock_us, $as_of_us) from "
        "(select source_no, max(clock_us) as clock_us from files "
        "where list_contains($file_nos, file_no) group by source_no) as newest "
        "where list_contains($file_nos, file_no) and files.source_no = newest.source_no "
        "and files.clock_us is not distinct from newest.clock_us and files.source_no not in "
        "(select source_no from files where list_contains($fresh, file_no))",
        chosen | {"fresh": list(fresh)},
    )


def _whole_bytes(one: Incoming) -> int:
    return one.file.bytes if one.follows is None else one.follows.bytes


def _source(format: Format, reading: Reading) -> str:
    return format.name if reading.cluster is None else f"{format.name}@{reading.cluster}"


def _enter_source(connection: duckdb.DuckDBPyConnection, one: Numbered, reading: Reading) -> None:
    format = one.incoming.format
    connection.execute(
        "insert into sources select ?, ?, ?, ?, null, ?, ?, ? "
        "where not exists (select 1 from sources where source_no = ?)",
        [
            one.source_no,
            _source(format, reading),
            format.name,
            reading.cluster,
            format.says.training,
            format.says.saves,
            format.says.resumes,
            one.source_no,
        ],
    )
