"""Whether a warehouse is sound: what it holds agrees with itself, its ledger and its events, and
readers see what a fresh computation gives.

Looks at everything and changes nothing: what it computes stands in temporary tables and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from ingest import compared, detail, publish, retention
from ingest.compared import count
from ingest.errors import UnusableArguments
from ingest.settings import Settings, as_text
from ingest.warehouse import Warehouse, rebuild_command
from ingest.words import counted, first_line
from queries import NothingPublished, model, published, watching

_INGEST_AGAIN = (
    "Restore a backup (`ett-warehouse restore`), or ingest the dumps into a new warehouse."
)
_AREAS = " + ".join(f"{area}_us" for area in model.AREAS)


@dataclass(frozen=True, slots=True)
class Finding:
    """What does not hold and what to do. Where `is_wrong` is false it only costs space."""

    what: str
    is_wrong: bool = True


def check(
    warehouse: Warehouse, settings: Settings, now: datetime, say: Callable[[str], None]
) -> Iterator[Finding]:
    """Look for all that may be wrong. `say` is told what is looked at."""
    connection = warehouse.connection
    rebuild = f"Run {rebuild_command(warehouse.folder)}."
    if not _has_facts(connection):
        if count(connection, "from meta where publication > 0"):
            yield _not_whole(rebuild)
        return
    is_ours = _facts_models(connection) == model.facts_fingerprint()  # else tables may be others
    if is_ours:
        say("seconds of every attempt and day")
        yield from _identity(connection, rebuild)
    say("ledger against events")
    yield from _ledger(connection)
    say("facts, detail and published files that belong to nothing")
    yield from _orphans(connection, model.KEPT_FACTS if is_ours else (), rebuild)
    yield from _files(warehouse, rebuild)
    unread = list(compared.gather_detail(warehouse))
    yield from map(Finding, unread)
    stale = _stale(connection, settings, rebuild)
    if stale is not None:
        yield stale
        return
    say("facts against a fresh computation from the events")
    yield from map(Finding, compared.off_facts(warehouse, settings, has_detail=not unread))
    say("published file against a fresh one")
    yield from map(Finding, compared.off_publication(warehouse, settings, now))


def _not_whole(rebuild: str) -> Finding:
    return Finding(f"the facts are not whole: computing them anew was ended. {rebuild}")


def _has_facts(connection: duckdb.DuckDBPyConnection) -> bool:
    return count(connection, "from duckdb_tables() where table_name = 'attempt_facts_kept'") > 0


def _facts_models(connection: duckdb.DuckDBPyConnection) -> str | None:
    [(models,)] = connection.execute("select facts_models from meta").fetchall()
    return None if models is None else str(models)


def _identity(connection: duckdb.DuckDBPyConnection, rebuild: str) -> Iterator[Finding]:
    for table, of in (
        ("attempt_day_facts_kept", "attempt-day"),
        ("attempt_facts_kept", "attempt"),
    ):
        off = count(connection, f"from {table} where wall_us <> {_AREAS}")
        if off:
            yield Finding(f"areas do not sum to the wall time of {counted(off, of)}. {rebuild}")
    split = count(
        connection,
        "from (select job_no, attempt, sum(wall_us) as wall_us from attempt_day_facts_kept "
        "group by job_no, attempt) as days full join attempt_facts_kept as facts "
        "on days.job_no = facts.job_no and days.attempt = facts.attempt "
        "where coalesce(days.wall_us, 0) is distinct from facts.wall_us",
    )
    if split:
        yield Finding(f"days do not sum to the wall time of {counted(split, 'attempt')}. {rebuild}")


def _ledger(connection: duckdb.DuckDBPyConnection) -> Iterator[Finding]:
    """A scheduler's row that a newer dump tells again has left the older dump's."""
    held = (
        "from files left join (select file_no, count(*) as events from events group by file_no) "
        "as held on files.file_no = held.file_no left join (select file_no, sum(events) as events "
        "from pruned_events group by file_no) as gone on files.file_no = gone.file_no where "
        "coalesce(held.events, 0) + coalesce(gone.events, 0)"
    )
    more = count(connection, f"{held} > files.events")
    fewer = count(connection, f"{held} < files.events and files.format not like 'slurm-%'")
    for dumps, word in ((more, "more"), (fewer, "fewer")):
        if dumps:
            yield Finding(
                f"{counted(dumps, 'dump')} with {word} events than the ledger says. {_INGEST_AGAIN}"
            )
    unknown = count(connection, "from events where file_no not in (select file_no from files)")
    if unknown:
        yield Finding(f"{counted(unknown, 'event')} of no dump of the ledger. {_INGEST_AGAIN}")
    set_aside = count(
        connection,
        "from files left join (select file_no, count(*) as lines from rejected_lines "
        "group by file_no) as held on files.file_no = held.file_no "
        "where files.rejected <> coalesce(held.lines, 0)",
    )
    if set_aside:
        yield Finding(
            f"{counted(set_aside, 'dump')} with other lines set aside than the ledger says. "
            f"{_INGEST_AGAIN}"
        )
    nameless = count(
        connection,
        "from (select distinct job_no from events where job_no is not null) as told "
        "where job_no not in (select job_no from job_keys)",
    )
    if nameless:
        yield Finding(f"{counted(nameless, 'job')} with events and no name. {_INGEST_AGAIN}")


def _orphans(
    connection: duckdb.DuckDBPyConnection, kept_facts: Sequence[str], rebuild: str
) -> Iterator[Finding]:
    connection.execute(
        "create or replace temp table told_jobs as select distinct job_no from events "
        "where job_no is not null"
    )
    for name in kept_facts:
        orphans = count(
            connection,
            f"from (select distinct base_job_no from {name}_kept) where base_job_no not in "
            "(select job_no from told_jobs union select job_no from pruned_jobs)",
        )
        if orphans:
            yield Finding(f"{counted(orphans, 'job')} with {name} but no events. {rebuild}")
    undead = count(connection, "from told_jobs where job_no in (select job_no from pruned_jobs)")
    if undead:
        yield Finding(f"{counted(undead, 'pruned job')} with events. {_INGEST_AGAIN}")
    unlisted = count(
        connection, "from job_details where file not in (select file from detail_files)"
    )
    if unlisted:
        yield Finding(f"{counted(unlisted, 'job')} with detail in no listed file. {rebuild}")


def _files(warehouse: Warehouse, rebuild: str) -> Iterator[Finding]:
    if not publish.is_published(warehouse):
        yield Finding(f"readers do not see the newest commit of {warehouse.folder}. {rebuild}")
    listed: set[str] = set()
    publications = sorted(warehouse.folder.glob("serving-*.duckdb"))
    for path in publications:
        try:
            listed |= publish.listed_detail(path)
        except duckdb.Error as error:
            if path == _current(warehouse.folder):
                return
            yield Finding(
                f"{path} cannot be read: {first_line(error)}. Nobody needs it: remove it.", False
            )
    leftover = [
        path
        for path in (*warehouse.folder.glob("*.building*"), *warehouse.folder.glob("*.upgrading*"))
        if path.stem != Path(watching.FILE).stem  # no publication takes a watcher's word away
    ]
    leftover += [
        path for path in detail.folder(warehouse.folder).glob("*") if path.name not in listed
    ]
    if leftover or len(publications) > publish.KEPT_PUBLICATIONS:
        yield Finding(
            f"{leftover[0] if leftover else publications[0]} and perhaps others are left over from "
            "a process that was ended. They go with the next publication.",
            is_wrong=False,
        )


def _current(folder: Path) -> Path | None:
    try:
        return published(folder)
    except NothingPublished:
        return None


def _stale(
    connection: duckdb.DuckDBPyConnection, settings: Settings, rebuild: str
) -> Finding | None:
    [(told,)] = connection.execute("select settings from meta").fetchall()
    models = _facts_models(connection)
    if models is None:
        return _not_whole(rebuild)
    if models != model.facts_fingerprint():
        return Finding(f"the facts were computed by another release. {rebuild}")
    if told != as_text(settings):
        try:
            retention.refuse_what_cannot_follow(connection, told, as_text(settings))
        except UnusableArguments as refusal:
            return Finding(str(refusal))
        return Finding(f"the facts were computed under other settings than ett.toml has. {rebuild}")
    return None
