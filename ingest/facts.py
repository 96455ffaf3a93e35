"""The facts of touched jobs and the rollups of touched days, within the batch's transaction.

What the numbers mean stands in `queries/`; this only says over which jobs and days they run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest import calendar, clocks, detail, judged, links, retention, store
from ingest.settings import Settings, as_text, like_pattern
from ingest.warehouse import Warehouse
from queries import model

_KEPT = Path(__file__).with_name("kept.sql")
# What is computed at once, for each GiB that the engine may take.
_EVENTS_A_GIB = 6_000_000
_ATTEMPT_DAYS_A_GIB = 200_000
_FEW_EVENTS = 200_000  # cost less to copy than to plan where they stand, for each model anew
_FEWER_EVENTS = 10_000  # so do these as one table, columns that nobody fills and all
_OF_TOUCHED_DAYS = "day in (select day from touched_days)"
_OF_TOUCHED_JOBS = "base_job_no in (select job_no from touched_jobs)"


# A clock that moved on can turn running into lost.
_RUNNING = "select base_job_no from attempt_facts_kept where outcome = 'running'"
_LOST = "select base_job_no from attempt_facts_kept where outcome = 'lost'"


# Which jobs the names of a batch are, as far as its facts tell.
_TOLD = """
    insert into told_jobs
    select distinct coalesce(stg_holds.joined_no, told_names.job_no) % 4294967296
    from told_names
    left join stg_holds on told_names.job_no = stg_holds.job_no
"""


def refresh(
    warehouse: Warehouse, settings: Settings, since_file_no: int, *, may_revive: bool
) -> None:
    """Recompute the jobs of a batch, the open ones, and every day they were or are in. With
    `may_revive` those that were lost too.

    The batch's events are those of `since_file_no` and later. The days of `renamed_jobs` tell their
    names.
    """
    links.note(warehouse.connection, since_file_no)
    warehouse.connection.execute(
        "create or replace temp table told_names as "
        "select job_no from job_keys where job_key in (select job_key from batch_jobs)"
    )
    revived = f" union {_LOST}" if may_revive else ""
    _touch(warehouse.connection, f"select job_no from told_names union {_RUNNING}{revived}")
    renamed = "base_job_no in (select job_no from renamed_jobs)"
    warehouse.connection.execute("create or replace temp table told_jobs (job_no bigint)")
    _recompute(warehouse, settings, since_file_no, days_of=f"({_OF_TOUCHED_JOBS} or {renamed})")


def told_jobs(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """The numbers of the jobs that the batch of the last `refresh` speaks of, under however many
    names.
    """
    return {job for (job,) in connection.execute("from told_jobs").fetchall()}


def still_jobs(connection: duckdb.DuckDBPyConnection, told: set[int]) -> set[int]:
    """Of the `told_jobs` of several batches those that are jobs of their own: what one batch told
    under a trainer's name another may have made the scheduler's job.
    """
    joined = connection.execute(
        "select told.job_no from (select unnest($1::bigint[]) as job_no) as told "
        "semi join job_links on told.job_no = job_links.job_no "
        "anti join job_names_kept on told.job_no = job_names_kept.base_job_no",
        [list(told)],
    ).fetchall()
    return told - {job for (job,) in joined}


def move_on(warehouse: Warehouse, settings: Settings, file_nos: Sequence[int]) -> None:
    """Recompute the open jobs, and those whose scheduler's rows stand in dumps of a later moment.

    Of two tellings of a row the one of the later dump holds.
    """
    numbers = ", ".join(map(str, file_nos))
    rows = f"select job_no from told_events where row_key is not null and file_no in ({numbers})"
    _touch(warehouse.connection, f"{rows} union {_RUNNING}")
    _recompute(warehouse, settings, None)


def rebuild(warehouse: Warehouse, settings: Settings) -> None:
    """Recompute everything from the events. Gives the same rows as the increments did.

    Facts of jobs whose events were pruned stay, and count in the rollups. Commits part by part the
    transaction that it is called in, and leaves the last one open.
    """
    # an earlier release may have found fewer links in the same events
    links.note(warehouse.connection, 0)
    clocks.part(warehouse.connection)
    _touch(warehouse.connection, "select job_no from job_keys")
    _recompute(warehouse, settings, None, days_of="true", may_commit=True)


def prepare(warehouse: Warehouse) -> None:
    """Make the tables of kept facts and rollups, empty, where they do not stand yet.

    Before any batch and in a transaction of its own: DuckDB 2.0 scans a table as empty that was
    made and then filled in bulk by the same transaction.
    """
    connection = warehouse.connection
    if _has_kept(connection):
        return
    connection.execute("begin")
    connection.execute(_KEPT.read_text(encoding="utf-8"))
    connection.execute("commit")


def follow(warehouse: Warehouse, settings: Settings, *, is_dry: bool = False) -> None:
    """Let settings and models that changed hold for all that was ever ingested.

    Raises UnusableArguments where what was pruned cannot follow. A dry run does no more than that.
    """
    meta = warehouse.connection.execute(
        "select publication, settings, facts_models from meta"
    ).fetchone()
    assert meta is not None
    if meta[1:] == (as_text(settings), model.facts_fingerprint()):
        return
    retention.refuse_what_cannot_follow(warehouse.connection, meta[1], as_text(settings))
    if is_dry:
        return
    if meta[2] != model.facts_fingerprint() and meta != (0, None, None):
        renew(warehouse, settings)  # another release's, or one that did not come to its end
    else:
        was_ended = _begin_anew(warehouse.connection)
        _compute_anew(warehouse, settings, must_judge=was_ended)


def renew(warehouse: Warehouse, settings: Settings) -> None:
    """Compute everything anew, into tables made anew.

    A process that dies on the way leaves what the next `follow` begins again. Raises
    UnusableArguments where what was pruned cannot follow.
    """
    connection = warehouse.connection
    [(told,)] = connection.execute("select settings from meta").fetchall()
    retention.refuse_what_cannot_follow(connection, told, as_text(settings))
    was_ended = _begin_anew(connection)
    retention.set_facts_aside(connection)
    prepare(warehouse)
    _compute_anew(warehouse, settings, must_judge=was_ended)


def computed_parts(warehouse: Warehouse, settings: Settings) -> Iterator[str]:
    """Compute the facts of all jobs anew, part by part, into temporary tables that nobody keeps.

    Yields which `base_job_no` each part has, as SQL. Outside of a transaction: what one drops keeps
    its room until it ends.
    """
    connection = warehouse.connection
    _touch(connection, "select job_no from job_keys")
    extent = _extent(connection)
    _settle(connection, settings, extent)
    parts = _parts(extent, settings)
    for part in range(parts):
        _scope(connection, extent, part, parts, None)
        model.compute(connection, "staging", "facts", "losses", stores_all=extent.is_small)
        yield f"({_OF_TOUCHED_JOBS} and {_mine('base_job_no', part, parts)})"
        model.forget(connection, "staging", "facts", "losses", stores_all=extent.is_small)
    _unscope(connection, extent)


def computed_rollups(warehouse: Warehouse, settings: Settings) -> Iterator[str]:
    """Compute the rollups of the kept facts anew, likewise. Yields which days each part has; all of
    them stand in `days_to_roll_up`.
    """
    connection = warehouse.connection
    connection.execute("create or replace temp table touched_days (day date)")
    _touch_days(connection, "_kept", "true")
    for _ in _rolled_up(connection, settings):
        yield _OF_TOUCHED_DAYS


def _compute_anew(warehouse: Warehouse, settings: Settings, *, must_judge: bool) -> None:
    connection = warehouse.connection
    meta = connection.execute("select publication, settings from meta").fetchone()
    assert meta is not None
    connection.execute("begin")
    try:
        retention.take_facts_back(connection)
        if meta[0] > 0:
            if must_judge or _fingerprint(meta[1]) != settings.failure_rules.fingerprint:
                judged.judge_all(connection, settings.failure_rules)
            rebuild(warehouse, settings)
        connection.execute(
            "update meta set settings = ?, facts_models = ?, published = null",
            [as_text(settings), model.facts_fingerprint()],
        )
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def _begin_anew(connection: duckdb.DuckDBPyConnection) -> bool:
    """Note that the facts are not whole, until they are. Returns whether that stood there already:
    whoever was ended may have judged by other rules than it noted.
    """
    [(models,)] = connection.execute("select facts_models from meta").fetchall()
    connection.execute("update meta set facts_models = null, published = null")
    return models is None


def _fingerprint(told: str | None) -> str | None:
    """Of the failure rules under which everything was judged."""
    rules = json.loads(told).get("failure_rules") if told else None
    return None if rules is None else str(rules)


def _touch(connection: duckdb.DuckDBPyConnection, select: str) -> None:
    connection.execute("create or replace temp table touched_jobs (job_no bigint)")
    connection.execute(f"insert into touched_jobs {select}")
    links.close(connection)
    retention.spare(connection)


def _recompute(
    warehouse: Warehouse,
    settings: Settings,
    since_file_no: int | None,
    days_of: str = _OF_TOUCHED_JOBS,
    *,
    may_commit: bool = False,
) -> None:
    connection = warehouse.connection
    # a job that becomes one with another is looked up under that one's number
    connection.execute(
        "delete from job_details where base_job_no in (select job_no from touched_jobs)"
    )
    extent = _extent(connection)
    _settle(connection, settings, extent)
    connection.execute("create or replace temp table touched_days (day date)")
    _touch_days(connection, "_kept", days_of)
    is_part = _changes_a_part(connection)
    if is_part:
        _note_unpublished(connection)
    parts = _parts(extent, settings)
    for part in range(parts):
        _scope(connection, extent, part, parts, since_file_no)
        model.compute(connection, "staging", "facts", "losses", stores_all=extent.is_small)
        _touch_days(connection, "")
        if since_file_no is not None:
            connection.execute(f"{_TOLD} where {_mine('told_names.job_no', part, parts)}")
        _keep(connection, part, parts)
        detail.write(warehouse, part)
        model.forget(connection, "staging", "facts", "losses", stores_all=extent.is_small)
        if may_commit:
            # the room of what was dropped is free only now: some gigabytes for each part
            connection.execute("commit")
            connection.execute("begin")
    _unscope(connection, extent)
    if is_part:
        _note_unpublished(connection)
    _roll_up(connection, settings, may_commit=may_commit)
    detail.tidy(warehouse)
    connection.execute("update meta set publication = publication + 1")


def _changes_a_part(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether it pays to note what changes: else the next publication is built whole."""
    row = connection.execute(
        "select (select count(*) from touched_jobs) * 4 < (select count(*) from job_keys) "
        "and (select published is not null from meta)"
    ).fetchone()
    if row == (True,):
        return True
    connection.execute("update meta set published = null")
    return False


def _note_unpublished(connection: duckdb.DuckDBPyConnection) -> None:
    """What the next publication must replace: the touched jobs and days, by the names of now."""
    connection.execute(
        "insert into unpublished_jobs select job_id from job_names_kept "
        "where base_job_no in (select job_no from touched_jobs) "
        "and job_id not in (select job_id from unpublished_jobs)"
    )
    connection.execute(
        "insert into unpublished_days select day from touched_days "
        "where day not in (select day from unpublished_days)"
    )


@dataclass(frozen=True, slots=True)
class _Extent:
    """How many events the touched jobs have, and the times that their attempts can lie between."""

    events: int
    first_us: int
    last_us: int

    @property
    def is_small(self) -> bool:
        """Whether what is read through is copied first, once for all models that read it."""
        return self.events <= _FEW_EVENTS

    @property
    def kind_of_events(self) -> str:
        """Whether `scoped_events` is a table or a view."""
        return "table" if self.events <= _FEWER_EVENTS and self.is_small else "view"


def _extent(connection: duckdb.DuckDBPyConnection) -> _Extent:
    """Of the touched jobs only: what is known of others must cost nothing."""
    row = connection.execute(
        "select count(*), coalesce(min(at_us), 0), greatest(max(at_us), max(end_us), "
        # one that still runs reaches to the clock of its source
        "(select max(clock_us) from sources), 0) "
        "from events where job_no in (select job_no from touched_jobs)"
    ).fetchone()
    assert row is not None
    return _Extent(*map(int, row))


def _settle(connection: duckdb.DuckDBPyConnection, settings: Settings, extent: _Extent) -> None:
    """Calendar, settings and exclusions as temporary tables for the models."""
    calendar.lay_out(connection, extent.first_us, extent.last_us, settings.timezone)
    stale_us = int(settings.stale_after.total_seconds() * 1_000_000)
    connection.execute(
        f"create or replace temp table settings as select {stale_us}::bigint as stale_after_us"
    )
    connection.execute("create or replace temp table exclusions (field varchar, pattern varchar)")
    for field, patterns in (
        ("partition", settings.excluded_partitions),
        ("name", settings.excluded_names),
    ):
        for pattern in patterns:
            connection.execute(
                "insert into exclusions values (?, ?)", [field, like_pattern(pattern)]
            )


def _parts(extent: _Extent, settings: Settings) -> int:
    """In how many parts the touched jobs are computed, so that memory stays bounded.

    Few: each reads all events of the touched jobs, and takes its own.
    """
    return max(1, -(-extent.events // _at_once(_EVENTS_A_GIB, settings)))


def _at_once(a_gib: int, settings: Settings) -> int:
    return max(1, settings.storage.memory_bytes * a_gib >> 30)


def _scope(
    connection: duckdb.DuckDBPyConnection,
    extent: _Extent,
    part: int,
    parts: int,
    since_file_no: int | None,
) -> None:
    """`scoped_events`: every event of one part of the touched jobs, each with a number.

    Few are gathered first; of many those of a batch are read where they stand, and only what was
    known of its jobs before is gathered.
    """
    since = 2**31 - 1 if since_file_no is None or extent.is_small else since_file_no
    mine = _mine("job_no", part, parts)
    selects = []
    for place, table in enumerate(store.TABLES):
        connection.execute(
            f"create or replace temp table known_{table} as select * from {table} "
            f"where file_no < {since} and {mine} and job_no in (select job_no from touched_jobs)"
        )
        selects.append(f"select rowid + {(2 * place) << 40} as row_no, * from known_{table}")
        if not extent.is_small:
            selects.append(
                f"select rowid + {(2 * place + 1) << 40} as row_no, * from {table} "
                f"where file_no >= {since} and {mine}"
            )
    told = " union all by name ".join(selects)
    kind = extent.kind_of_events
    connection.execute(f"create or replace temp {kind} scoped_events as {told}")


def _mine(job_no: str, part: int, parts: int) -> str:
    """Whether a job is of this part; jobs that may be one are of the same."""
    if parts == 1:
        return f"{job_no} is not null"
    return (
        f"case when {job_no} in (select job_no from woven_jobs) then {job_no} in "
        f"(select job_no from woven_jobs where group_no % {parts} = {part}) "
        f"else {job_no} % {parts} = {part} end"
    )


def _unscope(connection: duckdb.DuckDBPyConnection, extent: _Extent) -> None:
    connection.execute(f"drop {extent.kind_of_events} scoped_events")
    for table in store.TABLES:
        connection.execute(f"drop table known_{table}")


def _has_kept(connection: duckdb.DuckDBPyConnection) -> bool:
    row = connection.execute(
        "select count(*) from duckdb_tables() where table_name = 'attempt_facts_kept'"
    ).fetchone()
    return row != (0,)


def _touch_days(
    connection: duckdb.DuckDBPyConnection, suffix: str, mine: str = _OF_TOUCHED_JOBS
) -> None:
    """Note the days that touched jobs have a part in, before (`_kept`) or after."""
    days = " union ".join(
        f"select {column} as day from {table}{suffix} where {mine}"
        for table, column in (
            ("attempt_facts", "started_day"),
            ("attempt_facts", "first_batch_day"),
            ("attempt_facts", "ended_day"),
            ("attempt_day_facts", "day"),
            ("save_facts", "day"),
        )
    )
    connection.execute(
        f"insert into touched_days select day from ({days}) where day is not null "
        "and day not in (select day from touched_days)"
    )


def _keep(connection: duckdb.DuckDBPyConnection, part: int, parts: int) -> None:
    for name in model.KEPT_FACTS:
        connection.execute(
            f"delete from {name}_kept where base_job_no in (select job_no from touched_jobs) "
            f"and {_mine('base_job_no', part, parts)}"
        )
        _put(connection, name)


def _put(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Add fresh rows to the kept ones. Never none: what a transaction writes in bulk after it
    inserted from an empty table, DuckDB 2.0 leaves out of joins until the next checkpoint.
    """
    if connection.execute(f"select 1 from {name} limit 1").fetchone():
        connection.execute(f"insert into {name}_kept select * from {name}")


def _roll_up(
    connection: duckdb.DuckDBPyConnection, settings: Settings, *, may_commit: bool
) -> None:
    for _ in _rolled_up(connection, settings):
        for name in model.KEPT_ROLLUPS:
            connection.execute(f"delete from {name}_kept where {_OF_TOUCHED_DAYS}")
            _put(connection, name)
        if may_commit:
            connection.execute("commit")
            connection.execute("begin")


def _rolled_up(connection: duckdb.DuckDBPyConnection, settings: Settings) -> Iterator[None]:
    """Compute the rollups of the touched days, of as many at once as memory has room for.

    `touched_days` are those that were just computed.
    """
    model.load_attributions(connection, settings.failure_rules.attributions)
    connection.execute(
        "create or replace temp table days_to_roll_up as select days.day, "
        "sum(count(facts.day)) over (order by days.day) "
        f"// {_at_once(_ATTEMPT_DAYS_A_GIB, settings)} as part "
        "from touched_days as days left join attempt_day_facts_kept as facts using (day) "
        "group by days.day"
    )
    parts = connection.execute("select distinct part from days_to_roll_up order by part").fetchall()
    for (part,) in parts:
        connection.execute(
            "create or replace temp table touched_days as "
            f"select day from days_to_roll_up where part = {part}"
        )
        model.compute(connection, "alerts", "rollups")
        yield
        model.forget(connection, "alerts", "rollups")
