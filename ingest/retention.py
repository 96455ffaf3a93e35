"""What is forgotten on purpose: events of jobs that ended before a day, never the numbers made of
them.

The facts and rollups of a pruned job stand as they were. What is told of it later, of a time before
that day, is turned away and counted as an anomaly: without the other events a number made of it
would be wrong. Later events of the same id are a job of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import duckdb

from ingest import calendar, detail, links, store
from ingest.errors import UnusableArguments
from ingest.warehouse import Warehouse
from ingest.words import counted
from queries import model

# Whoever changes one of them wants other numbers for the past, which only events could give.
_CANNOT_FOLLOW = ("timezone", "stale_after", "excluded_partitions", "excluded_names")
_SETTINGS = {"stale_after": "stale_after_hours", "excluded_partitions": "exclude.partitions"} | {
    "excluded_names": "exclude.names"
}

# One timeline is kept or pruned as a whole, and only when nothing can change it any more. A job
# that never ran may still do so, and so may one whose next try waits.
_PRUNING = """
    with known as (
        select keys.job_no, keys.job_key, coalesce(woven.group_no, keys.job_no) as group_no
        from job_keys as keys
        left join woven_jobs as woven on keys.job_no = woven.job_no
        where keys.job_no not in (select job_no from pruned_jobs)
    ),
    told as (
        select job_no, max(greatest(at_us, end_us)) as last_us from events group by job_no
    ),
    waiting as (
        select job_no from events where event <> 'job'
        group by job_no, row_key, attempt
        having bool_and(
            coalesce(event = 'phase_start' and phase = 'queue' and end_us is null, false)
        )
    ),
    made as (
        select base_job_no, bool_or(outcome = 'running') as is_running, max(ended_us) as ended_us
        from attempt_facts_kept group by base_job_no
    ),
    groups as (
        select known.group_no, min(made.base_job_no) as shown_no
        from known
        left join told on known.job_no = told.job_no
        left join made on known.job_no = made.base_job_no
        group by known.group_no
        having count(made.base_job_no) > 0
            and not coalesce(bool_or(made.is_running), false)
            and not bool_or(known.job_no in (select job_no from waiting))
            and max(greatest(told.last_us, made.ended_us)) < {before_us}
    )
    select known.job_no, known.job_key, groups.shown_no
    from known inner join groups on known.group_no = groups.group_no
"""

# what states a number is late by that number: the same run may go on under one that was not pruned
_NAMES_PRUNED = """
    union all
    select batch.job_key, batch.scheduler_job, pruned.shown_no, pruned.before_us
    from batch
    inner join scheduler_jobs as jobs
        on batch.scheduler_job = jobs.scheduler_job and {same_cluster}
    inner join pruned_jobs as pruned on jobs.job_no = pruned.job_no
"""
# A name that is only a number says it of a job that ran then: many a run is called by a number that
# is none of the scheduler's. A native job's id is always the scheduler's (ruling R23).
_LIVES = """
    with lives as (
        select pruned.job_no, min(facts.started_us) as began_us, max(facts.ended_us) as until_us
        from pruned_jobs as pruned
        inner join attempt_facts_kept as facts on pruned.shown_no = facts.base_job_no
        group by pruned.job_no, facts.job_no
    )
"""
_RAN_THEN = """exists (
        select 1 from lives
        where
            lives.job_no = pruned.job_no
            and lives.began_us <= batch.last_us
            and batch.first_us <= lives.until_us
    )"""
_IS_NAMED_BY_PRUNED = """
    union all
    select batch.job_key, null, pruned.shown_no, pruned.before_us
    from (
        select
            job_key,
            regexp_extract(job_key, '[^:]*$') as scheduler_job,
            nullif(regexp_extract(job_key, '^(.*):[^:]*$', 1), '') as cluster,
            min(at_us) filter (where event = 'attempt_start') as first_us,
            max(at_us) filter (where event in ('alive', 'attempt_end')) as last_us
        from batch
        where row_key is not null
        group by job_key, row_key
    ) as batch
    inner join job_links as links
        on batch.scheduler_job = links.scheduler_job
        and coalesce(batch.cluster = links.cluster, true)
    inner join pruned_jobs as pruned on links.job_no = pruned.job_no
    where links.scheduler_job <> pruned.job_key or {ran_then}
"""
_IS_NUMBER_OF_PRUNED = """
    union all
    select batch.job_key, null, pruned.shown_no, pruned.before_us
    from (
        select
            job_key,
            source_no in (select source_no from sources where format = 'events') as is_native,
            {cluster} as cluster,
            min(at_us) as first_us,
            max(coalesce(end_us, at_us)) as last_us
        from batch
        where {is_no_row} and job_key >= '0' and job_key < ':'
        group by job_key, source_no, {launch}
    ) as batch
    inner join scheduler_jobs as jobs
        on batch.job_key = jobs.scheduler_job and coalesce(batch.cluster = jobs.cluster, true)
    inner join pruned_jobs as pruned on jobs.job_no = pruned.job_no
    where batch.is_native or {ran_then}
"""

# What a launch or a job states in one place holds where it does not state it (ruling R23).
_STATED = """
    create or replace temp table stated as
    select
        job_key,
        {attempt} as attempt,
        {run_key} as run_key,
        coalesce(
            max(scheduler_job),
            case
                when min(min(scheduler_job)) over of_job = max(max(scheduler_job)) over of_job
                    then max(max(scheduler_job)) over of_job
            end
        ) as scheduler_job
    from batch
    where job_key in (select job_key from closed where scheduler_job is not null)
    group by job_key, {attempt}, {run_key}
    window of_job as (partition by job_key)
"""
_WITH_CLOSED = """
    from batch
    left join stated
        on batch.job_key = stated.job_key
        and {attempt} is not distinct from stated.attempt
        and {run_key} is not distinct from stated.run_key
    left join closed
        on batch.job_key = closed.job_key
        and coalesce(
            closed.scheduler_job = coalesce({scheduler_job}, stated.scheduler_job),
            closed.scheduler_job is null
        )
"""

# the new name of a pruned job that another one has already: it would make one of both
_TAKEN = """
    update again
    set until = concat(until, until)
    from job_keys as keys
    where
        again.job_no = keys.job_no
        and concat(keys.job_key, until) in
        (select job_key from job_keys union all select job_key from batch)
"""

# made where something was pruned: how much of a dump was turned away, by the job that is shown
_LATE = """
    create table if not exists late_events (
        file_no integer not null, shown_no bigint not null, events bigint not null
    )
"""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a prune dropped, or would."""

    jobs: int
    events: int
    kept_jobs: int


def plan(connection: duckdb.DuckDBPyConnection, before_us: int) -> Pruned:
    """Choose the jobs whose events can go into the temporary table `pruning`."""
    connection.execute("create or replace temp table touched_jobs as select job_no from job_keys")
    links.close(connection)
    connection.execute(
        "create or replace temp table pruning as " + _PRUNING.format(before_us=before_us)
    )
    [(jobs, events, kept)] = connection.execute(
        "select (select count(*) from pruning), (select count(*) from events where job_no in "
        "(select job_no from pruning)), (select count(*) from job_keys where job_no not in "
        "(select job_no from pruning union select job_no from pruned_jobs))"
    ).fetchall()
    return Pruned(jobs, events, kept)


def prune(warehouse: Warehouse, before_us: int) -> None:
    """Drop the events and the detail of the planned jobs, in one transaction."""
    connection = warehouse.connection
    connection.execute("begin")
    try:
        _drop(warehouse, before_us)
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")
    connection.execute("checkpoint")


def spare(connection: duckdb.DuckDBPyConnection) -> None:
    """Take out of what is computed anew the jobs that cannot be."""
    for table in ("touched_jobs", "woven_jobs"):
        connection.execute(f"delete from {table} where job_no in (select job_no from pruned_jobs)")


def turn_away(
    connection: duckdb.DuckDBPyConnection, whole: Sequence[int], shorter: Sequence[int]
) -> dict[int, int]:
    """Leave out of `batch` what comes too late for a pruned job, and count it among its anomalies.

    Too late is also a trainer's word on a pruned job of the scheduler, and a scheduler's row of a
    job that a pruned trainer ran under: one timeline, whose numbers stand. `whole`: the dumps of
    the batch that are no pieces; `shorter`: those that some of them were before they grew. What
    these told counts no more: the whole tells it again, at every look at a log that grows. Leaves
    `renamed_jobs`: the pruned ones that are called otherwise from now on. Returns how many events
    of each dump were left out.
    """
    connection.execute("create or replace temp table renamed_jobs (job_no bigint)")
    if connection.execute("select 1 from pruned_jobs limit 1").fetchone() is None:
        return {}
    connection.execute(_LATE)
    _take_back(connection, shorter)
    connection.execute(f"create or replace temp table closed as {_closed(connection)}")
    with_closed = _with_closed(connection)
    late = connection.execute(
        "create or replace temp table late as "
        "select batch.file_no, closed.shown_no, count(*) as events, min(batch.at_us) as first_us "
        f"{with_closed} where batch.at_us < closed.before_us "
        "group by batch.file_no, closed.shown_no"
    ).fetchone()
    left_out: dict[int, int] = {}
    if late is not None and late[0]:
        left_out = dict(
            connection.execute(
                "select file_no, sum(events)::bigint from late group by file_no"
            ).fetchall()
        )
        connection.execute(
            f"create or replace temp table in_time as select batch.* {with_closed}"
            "where closed.job_key is null or batch.at_us >= closed.before_us"
        )
        connection.execute("create or replace temp view batch as select * from in_time")
        _note_late(connection, whole)
    _forget_none_late(connection)
    _tell_lives_apart(connection)
    return left_out


def refuse_what_cannot_follow(
    connection: duckdb.DuckDBPyConnection, told: str | None, now: str
) -> None:
    """Raise UnusableArguments where the settings ask for other numbers of pruned jobs."""
    [(jobs, before_us)] = connection.execute(
        "select count(*), max(before_us) from pruned_jobs"
    ).fetchall()
    if told is None or jobs == 0:
        return
    before, after = json.loads(told), json.loads(now)
    first_kept = calendar.day_of(before_us, ZoneInfo(before["timezone"]))
    for name in _CANNOT_FOLLOW:
        if before.get(name) != after.get(name):
            raise UnusableArguments(
                f"{_SETTINGS.get(name, name)} was {before.get(name)} and is now {after.get(name)}, "
                f"but the events of {counted(jobs, 'job')} from before {first_kept} were "
                "pruned, so that their numbers cannot follow. Set it back in ett.toml, restore a "
                "backup from before the prune, or begin a new warehouse."
            )


def set_facts_aside(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop all facts and rollups but the facts of pruned jobs, which nothing can make again."""
    connection.execute("begin")
    tables = _tables(connection)
    for name in model.KEPT_FACTS:
        if f"{name}_kept" in tables:
            connection.execute(
                f"create table if not exists {name}_aside as select * from {name}_kept "
                "where base_job_no in (select job_no from pruned_jobs)"
            )
    for table in tables:
        if table.endswith("_kept"):
            connection.execute(f"drop table {table}")
    connection.execute("commit")


def take_facts_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Put the facts of pruned jobs beside the new ones; what no old model told of them is null."""
    tables = _tables(connection)
    for name in model.KEPT_FACTS:
        if f"{name}_aside" not in tables:
            continue
        kept = store.columns_of(connection, f"{name}_kept")
        old = set(store.columns_of(connection, f"{name}_aside"))
        columns = ", ".join(column for column in kept if column in old)
        # never none (see `facts._put`)
        if connection.execute(f"select 1 from {name}_aside limit 1").fetchone():
            connection.execute(
                f"insert into {name}_kept ({columns}) select {columns} from {name}_aside"
            )
        connection.execute(f"drop table {name}_aside")
    # an earlier release told it as nothing (ruling R19)
    connection.execute(
        "update attempt_facts_kept set lost_gpu_us = null, caused_recovery_gpu_us = null "
        "where (gpus is null or not is_instrumented) "
        "and lost_gpu_us = 0 and caused_recovery_gpu_us = 0"
    )


def _drop(warehouse: Warehouse, before_us: int) -> None:
    connection = warehouse.connection
    mine = "job_no in (select job_no from pruning)"
    connection.execute(
        f"insert into pruned_events select file_no, count(*) from events where {mine} "
        "group by file_no"
    )
    for table in ("plain_events", "told_events", "placed_jobs"):
        connection.execute(f"delete from {table} where {mine}")
    connection.execute(
        f"insert into pruned_jobs select job_no, job_key, shown_no, {before_us} from pruning"
    )
    detail.forget(warehouse, "select job_no from pruning")
    # readers find no detail of them any more; where these are many, all is published anew
    connection.execute(
        "update meta set publication = publication + 1, published = case when "
        "(select count(*) from pruning) * 4 < (select count(*) from job_keys) then published end"
    )
    _note_unpublished(connection, "select job_no from pruning")


def _closed(connection: duckdb.DuckDBPyConnection) -> str:
    """A select: job_key, scheduler_job (null: whatever it states), before_us (what was told of
    earlier instants is too late), shown_no.
    """
    columns = store.columns_of(connection, "batch")
    parts = [
        "select job_key, cast(null as varchar) as scheduler_job, shown_no, before_us "
        "from pruned_jobs where job_key in (select job_key from batch)"
    ]
    if "scheduler_job" in columns:
        same = "coalesce(batch.cluster = jobs.cluster, true)" if "cluster" in columns else "true"
        parts.append(_NAMES_PRUNED.format(same_cluster=same))
    if "row_key" in columns:
        parts.append(_IS_NAMED_BY_PRUNED.format(ran_then=_RAN_THEN))
    if "source_no" in columns:
        parts.append(
            _IS_NUMBER_OF_PRUNED.format(
                cluster="max(cluster)" if "cluster" in columns else "cast(null as varchar)",
                is_no_row="row_key is null" if "row_key" in columns else "true",
                launch="run_key" if "run_key" in columns else "null",
                ran_then=_RAN_THEN,
            )
        )
    return (
        f"{_LIVES} select job_key, case when not is_whole then scheduler_job end as scheduler_job, "
        "max(before_us) as before_us, arg_max(shown_no, before_us) as shown_no "
        "from (select *, bool_or(scheduler_job is null) over (partition by job_key) as is_whole "
        f"from ({' '.join(parts)})) group by all"
    )


def _with_closed(connection: duckdb.DuckDBPyConnection) -> str:
    """What follows the columns of a select of `batch`, each event beside what closes it."""
    columns = store.columns_of(connection, "batch")
    told = {
        name: f"batch.{name}" if name in columns else "null"
        for name in ("attempt", "run_key", "scheduler_job")
    }
    if "scheduler_job" in columns:
        connection.execute(_STATED.format_map(told))
    else:
        connection.execute(
            "create or replace temp table stated (job_key varchar, attempt bigint, "
            "run_key varchar, scheduler_job varchar)"
        )
    return _WITH_CLOSED.format_map(told)


def _take_back(connection: duckdb.DuckDBPyConnection, shorter: Sequence[int]) -> None:
    connection.execute(
        "update contradiction_facts_kept as known set times = known.times - gone.events from "
        "(select shown_no, sum(events) as events from late_events "
        "where list_contains(?, file_no) group by shown_no) as gone "
        "where known.base_job_no = gone.shown_no and known.kind = 'late_for_pruned'",
        [list(shorter)],
    )
    connection.execute("delete from late_events where list_contains(?, file_no)", [list(shorter)])


def _forget_none_late(connection: duckdb.DuckDBPyConnection) -> None:
    none = "kind = 'late_for_pruned' and times <= 0"
    _note_unpublished(connection, f"select base_job_no from contradiction_facts_kept where {none}")
    connection.execute(f"delete from contradiction_facts_kept where {none}")


def _note_late(connection: duckdb.DuckDBPyConnection, whole: Sequence[int]) -> None:
    connection.execute(
        "insert into late_events select file_no, shown_no, events from late "
        "where list_contains(?, file_no)",
        [list(whole)],
    )
    connection.execute(
        "create or replace temp table late as select shown_no, sum(events) as events, "
        "min(first_us) as first_us from late group by shown_no"
    )
    connection.execute(
        "update contradiction_facts_kept as known set times = known.times + late.events, "
        "first_us = least(known.first_us, late.first_us) from late "
        "where known.base_job_no = late.shown_no and known.kind = 'late_for_pruned'"
    )
    connection.execute(
        "insert into contradiction_facts_kept by name "
        "select names.job_no, late.shown_no as base_job_no, 'late_for_pruned' as kind, "
        "'left out, because the other events were pruned: one told' as what, "
        "late.first_us, late.events as times "
        "from late inner join (select base_job_no, min(job_no) as job_no from job_names_kept "
        "group by base_job_no) as names on late.shown_no = names.base_job_no "
        "where late.shown_no not in "
        "(select base_job_no from contradiction_facts_kept where kind = 'late_for_pruned')"
    )
    _note_unpublished(connection, "select shown_no from late")


def _tell_lives_apart(connection: duckdb.DuckDBPyConnection) -> None:
    """A pruned job whose id is told of again is from now on called by the day it reached to."""
    [(told,)] = connection.execute("select settings from meta").fetchall()
    zone = ZoneInfo(json.loads(told)["timezone"])
    ends = connection.execute("select distinct before_us from pruned_jobs").fetchall()
    again = connection.execute(
        "create or replace temp table again as "
        "select pruned.job_no, concat(' until ', reached.day) as until "
        "from pruned_jobs as pruned inner join job_keys as keys "
        "on pruned.job_no = keys.job_no "  # by whichever name: a job may really be called so
        "inner join (select unnest(?) as before_us, unnest(?) as day) as reached "
        "on pruned.before_us = reached.before_us "
        "where keys.job_key in (select job_key from batch)",
        [[us for (us,) in ends], [str(calendar.day_of(us - 1, zone)) for (us,) in ends]],
    ).fetchone()
    if again is None or not again[0]:
        return
    while connection.execute(_TAKEN).fetchone() != (0,):
        pass  # each time longer, and so in the end than any name
    mine = "select job_no from again"
    connection.execute(f"insert into renamed_jobs {mine}")
    _note_unpublished(connection, mine)
    connection.execute(
        "update job_keys set job_key = concat(job_keys.job_key, again.until) from again "
        "where job_keys.job_no = again.job_no"
    )
    connection.execute(
        "update job_names_kept set job_id = concat(job_id, again.until) from again "
        "where job_names_kept.base_job_no = again.job_no"
    )
    _note_unpublished(connection, mine)


def _note_unpublished(connection: duckdb.DuckDBPyConnection, jobs: str) -> None:
    connection.execute(
        f"insert into unpublished_jobs select job_id from job_names_kept where base_job_no in "
        f"({jobs}) and job_id not in (select job_id from unpublished_jobs)"
    )


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {
        name
        for (name,) in connection.execute(
            "select table_name from duckdb_tables() where not temporary"
        ).fetchall()
    }
