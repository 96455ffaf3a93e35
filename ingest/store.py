"""How events stand in the warehouse: plain ones and those that say more, each once.

The rows of a batch are the view `batch` until they are kept: the columns of `events` that its dumps
use, with job_key for job_no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from ingest import fields
from queries import frames

TABLES = ("plain_events", "told_events")

_PLAIN = frozenset({"job_key", *map(fields.column, fields.PLAIN)})
_OF_THE_DUMP = ("file_no", "source_no")
_SORTED_AT_ONCE = 20_000_000  # 160 MB
_NOTHING = (
    "select * from (select null::integer as file_no, null::bigint as at_us, "
    "null::bigint as end_us, null::varchar as job_key, false as says_more) where false"
)
_SAME = "known.job_key is not distinct from fresh.job_key and known.identity = fresh.identity"
# what is concluded from an event is no part of what it says: rules may change between two dumps
_CONCLUDED = ("cause_category", "cause_rule", "cause_rank", "evidence", "evidence_line")


def gather(connection: duckdb.DuckDBPyConnection, selects: Sequence[str]) -> None:
    """Let `batch` be the rows of these selects."""
    connection.execute(
        f"create or replace temp view batch as {' union all by name '.join([_NOTHING, *selects])}"
    )


def deduplicate(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop from `batch` what it says twice and what the warehouse knows.

    All parsed fields are an event's identity; which dump told it is not. Of a scheduler row told
    again, the telling of the newest dump stays: it decides between dumps. Most batches say nothing
    twice and nothing that is known: then no row is touched. Needs the dumps' clocks in the ledger.
    """
    says_twice = _says_something_twice(connection)
    if not (says_twice or (_speaks_of_known_jobs(connection) and _says_what_is_known(connection))):
        return
    told = f"select batch.*, {_identity(_batch_values(connection))} as identity from batch"
    if says_twice:
        told = (
            "select told.* exclude (place) from (select told.*, "
            "row_number() over (partition by told.job_key, told.identity "
            "order by files.clock_us desc nulls last, told.file_no) as place "
            f"from ({told}) as told left join files on told.file_no = files.file_no) as told "
            "where place = 1"
        )
    connection.execute(f"create or replace temp table told_once as {told}")
    for table in TABLES:
        _forget_known(connection, table)
    connection.execute(
        "create or replace temp view batch as select * exclude (identity) from told_once"
    )


def keep(connection: duckdb.DuckDBPyConnection, *, holds_many: bool) -> None:
    """Move the batch into the warehouse; `batch_jobs` are the jobs that it speaks of.

    What says more than plain events stands in `judged_batch`. `holds_many`: rows in memory of which
    the engine does not know how many they are, and takes them for few.
    """
    connection.execute("create or replace temp table batch_jobs (job_key varchar)")
    connection.execute(
        "insert into batch_jobs select distinct job_key from batch where job_key is not null"
    )
    connection.execute(
        "insert into job_keys select "
        "(select coalesce(max(job_no), 0) from job_keys) + row_number() over (order by job_key), "
        "job_key from batch_jobs as told "
        "where not exists (select 1 from job_keys where job_keys.job_key = told.job_key)"
    )
    if holds_many:  # else the rows are kept to be looked up by each of the keys
        connection.execute("set disabled_optimizers = 'build_side_probe_side'")
    for table, source, condition in zip(
        TABLES, ("batch", "judged_batch"), ("not says_more", "true"), strict=True
    ):
        used = columns_of(connection, source)
        kept = [name for name in columns_of(connection, table) if name in used]
        columns = ", ".join(f"told.{name}" for name in kept)
        connection.execute(
            f"insert into {table} (job_no, {', '.join(kept)}) select job_keys.job_no, {columns} "
            f"from {source} as told left join job_keys on told.job_key = job_keys.job_key "
            f"where {condition}"
        )
    if holds_many:
        connection.execute("reset disabled_optimizers")


def most_gpus(connection: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """The most GPUs that anything has, by the dump of the batch that tells it, if it tells any."""
    if "gpus" not in columns_of(connection, "batch"):
        return {}
    return dict(
        connection.execute(
            "select file_no, max(gpus) from batch where gpus is not null group by file_no"
        ).fetchall()
    )


def batch_jobs(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """The names of jobs that the batch speaks of, as hashes: enough to count them."""
    return {job for (job,) in connection.execute("select hash(job_key) from batch_jobs").fetchall()}


def columns_of(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """A table's columns in order, with their types."""
    return {row[0]: row[1] for row in connection.execute(f"describe {table}").fetchall()}


def _says_something_twice(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether two rows of the batch are equal.

    Bare numbers are sorted in a tenth of the time that it takes to group by them; so many at once
    that memory stays bounded.
    """
    identities = f"select {_identity(_batch_values(connection))} as identity from batch"
    [(rows,)] = connection.execute("select count(*) from batch").fetchall()
    parts = 1 + rows // _SORTED_AT_ONCE
    for part in range(parts):
        mine = "" if parts == 1 else f" where identity % {parts} = {part}"
        told = frames.told(connection, f"select identity from ({identities}){mine}")
        in_order = told["identity"].sort()
        if (in_order == in_order.shift()).any():
            return True
    return False


def _speaks_of_known_jobs(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "(select 1 from job_keys where job_key in (select job_key from batch) limit 1) union all "
        # a roll-out belongs to no job
        "(select 1 from batch where job_key is null "
        "and (select count(*) from told_events where job_no is null) > 0 limit 1)"
    ).fetchone()
    return found is not None


def _says_what_is_known(connection: duckdb.DuckDBPyConnection) -> bool:
    known = " union all ".join(f"select * from ({_known(connection, table)})" for table in TABLES)
    found = connection.execute(
        f"select 1 from ({known}) as known inner join "
        f"(select job_key, {_identity(_batch_values(connection))} as identity from batch) as fresh "
        f"on {_SAME} limit 1"
    ).fetchone()
    return found is not None


def _known(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A select of what a table knows of the batch's own jobs, and of what belongs to no job."""
    own = columns_of(connection, table)
    values = {
        name: f"known.{name}" if name in own else f"cast(null as {kind})"
        for name, kind in columns_of(connection, "told_events").items()
    }
    values["job_key"] = "known.job_key"
    return (
        "with jobs as (select job_no, job_key from job_keys "
        "where job_key in (select job_key from batch)), "
        f"known as (select {table}.rowid as place, {table}.*, jobs.job_key from {table} "
        f"inner join jobs on {table}.job_no = jobs.job_no "
        f"union all select rowid, *, null from {table} where job_no is null) "
        f"select known.place, known.file_no, known.job_key, {values['row_key']} as row_key, "
        f"{_identity(values)} as identity from known"
    )


def _forget_known(connection: duckdb.DuckDBPyConnection, table: str) -> None:
    connection.execute(
        "create or replace temp table retold as "
        "select known.place, fresh.rowid as fresh_place, known.row_key is not null "
        "and coalesce(fresh_files.clock_us > known_files.clock_us, false) as is_newer "
        f"from ({_known(connection, table)}) as known "
        f"inner join told_once as fresh on {_SAME} "
        "inner join files as known_files on known.file_no = known_files.file_no "
        "inner join files as fresh_files on fresh.file_no = fresh_files.file_no"
    )
    connection.execute(
        f"delete from {table} where rowid in (select place from retold where is_newer)"
    )
    connection.execute(
        "delete from told_once where rowid in (select fresh_place from retold where not is_newer)"
    )
    connection.execute("drop table retold")


def _batch_values(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    used = columns_of(connection, "batch")
    values = {
        name: f"batch.{name}" if name in used else f"cast(null as {kind})"
        for name, kind in columns_of(connection, "told_events").items()
    }
    values["job_key"] = "batch.job_key"
    return values


def _identity(values: Mapping[str, str]) -> str:
    """An SQL expression that is equal for events that say the same, from whichever dump."""
    said = {
        name: value
        for name, value in sorted(values.items())
        if name not in (*_OF_THE_DUMP, *_CONCLUDED, "job_no")
    }
    plain = [value for name, value in said.items() if name in _PLAIN]
    # of most rows nothing: then it is computed once for many
    more = [value for name, value in said.items() if name not in _PLAIN]
    return f"hash({', '.join(plain)}, hash({', '.join(more)}))"
