"""What an ingest warns of once it has loaded a batch: what makes time count twice, or as something
that it cannot have been. One job of each kind is named; Data lists all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from ingest import ledger, links

_LOG = logging.getLogger("ingest")


class _Doubt(NamedTuple):
    """What two dumps make doubtful. `other_no`: the job that may be this one; None where it is one.

    What was found by one batch is no more than an example, so it is kept beside the facts.
    """

    about: str
    what: str
    job_no: int | None
    other_no: int | None = None


_WORDS = "words"  # of a log, which others stood under before; all else is told twice
_THEN = {
    "cluster": (
        ": that is two jobs, and its time counts twice if they are one. Ingest tables that have no "
        "column Cluster with --cluster, into a new warehouse if they are in this one already"
    ),
    "number": (
        ": that is two jobs, and its time counts twice. Ask sacct for the column JobIDRaw in every "
        "table (sacct -o ALL), and ingest them into a new warehouse"
    ),
    "row": (
        ": that is two rows, and its time counts twice. Ask sacct for the column Submit in every "
        "table (sacct -o ALL), and ingest them into a new warehouse"
    ),
    "content": (
        ", and its place names another job: if the one is a copy, or was moved, its time counts "
        "twice. Ingest one of them into a new warehouse (--warehouse)"
    ),
    _WORDS: (
        ": what it told then stays, also where it tells that otherwise now. If it is one log that "
        "was packed or written anew, ingest it into a new warehouse (--warehouse)"
    ),
    "steps": (
        ", and its place names another job: if they tell of one run, its time counts twice. Ingest "
        "one of them, or name both alike by a rule on path in ett.toml ([[identity]]), into a new "
        "warehouse (--warehouse)"
    ),
}
_MOST_KEPT = 1000  # a fleet that is told twice has as many as it has jobs
_NAME_EACH = (
    "name each by a rule on path in ett.toml ([[identity]]), and ingest them into a new warehouse "
    "(--warehouse)"
)
_LOGS_AT_ONCE = "runs_at_once"
# by kind of anomaly, in the order in which they are said
_CONTRADICTIONS = {
    "counted_twice": (
        "job %s: %s. If they are one run, its time counts twice. The scheduler's dump makes them "
        "one: ingest it as well (sacct)"
    ),
    "ambiguous_job": (
        "job %s: %s. It is joined with none of them, and if it is one its time counts twice. "
        "Ingest what tells of it with --cluster into a new warehouse (--warehouse)"
    ),
    "number_at_once": (
        "job %s: %s. Both count. If they are one row, told with another Submit or without, its "
        "time counts twice; if they are jobs of two clusters, name these (--cluster). Ingest them "
        "so into a new warehouse (--warehouse)"
    ),
    "clusters_at_once": (
        "job %s: %s. If these are two runs that share a name, they count as one, the time between "
        "them too: let each event's job_id name its cluster as well, and ingest them into a new "
        "warehouse (--warehouse)"
    ),
    "outside_allocations": (
        "job %s: %s. Both count. Times that tell no zone are of --timezone (without it UTC): if "
        "those of the log or of the scheduler's dump are of another, ingest them with it into a "
        "new warehouse (--warehouse)"
    ),
    "launch_over_allocations": (
        "job %s: %s. So some of what it trained counts as unaccounted, and some start-up as "
        "training: let each launch print SLURM_RESTART_COUNT, or what it resumes from, as it begins"
    ),
    _LOGS_AT_ONCE: (
        "job %s: %s (%s ... %s). If they are several runs under one name, what they did at once "
        f"counts once: {_NAME_EACH}"
    ),
    "begun_elsewhere": (
        "job %s: %s. If these are runs of their own, what an earlier one trained counts as "
        f"unsaved unless it completed: {_NAME_EACH}"
    ),
    "never_durable": (
        "job %s: %s. What they saved counts as unsaved where an interruption follows, unless the "
        "next attempt says where it resumed: let the trainer tell the end of each upload (phase "
        "checkpoint_upload; one-logger's on_save_checkpoint_success)"
    ),
    "left_branch": (
        "job %s: %s. If it went on from the earlier save, what was trained after that counts as "
        "effective in vain, and what led to it may count as unsaved: Data lists these attempts"
    ),
}


def say(connection: duckdb.DuckDBPyConnection, since_file_no: int) -> None:
    """Warn of the jobs of `batch_jobs`, whose facts are computed, and of the dumps from this number
    on. What no fact tells is kept for readers, and said once: a log that is followed is in many
    batches.
    """
    alike = [
        _Doubt("steps", f"{log} tells the steps of {other} at the same times", *jobs)
        for log, other, *jobs in links.same_steps(connection, since_file_no)
    ]
    doubts = _unsaid(connection, [*_of_dumps(connection, since_file_no), *alike])
    _warn(doubts)
    _keep(connection, doubts)
    found = links.contradictions(connection, *_CONTRADICTIONS)
    for kind, sentence in _CONTRADICTIONS.items():
        if (contradiction := found.get(kind)) is not None:
            job_no, *told = contradiction
            logs = links.logs_of_steps(connection, job_no) if kind == _LOGS_AT_ONCE else ()
            _LOG.warning(sentence, *told, *logs)


def say_of_dumps(connection: duckdb.DuckDBPyConnection, since_file_no: int) -> None:
    """Warn of what is known before any facts are computed, once the links are noted."""
    _warn(_of_dumps(connection, since_file_no))


def _of_dumps(connection: duckdb.DuckDBPyConnection, since_file_no: int) -> list[_Doubt]:
    return [
        *(
            _Doubt(kind, _named_twice(kind, number, other), *jobs)
            for kind, number, other, *jobs in links.told_twice(connection)
        ),
        *(
            _Doubt(
                "row",
                f"a row of the scheduler's job {job} is told with its Submit and without",
                job_no,
            )
            for job, job_no in links.rows_told_twice(connection)
        ),
        *(
            _Doubt("content", f"{copy} has the content of {file}", *jobs)
            for copy, file, *jobs in ledger.copies(connection, since_file_no)
        ),
        *(
            _Doubt(
                _WORDS,
                f"{file} was loaded before with other content, and tells a part of it again",
                job_no,
            )
            for file, job_no in ledger.told_otherwise(connection, since_file_no)
        ),
    ]


def _named_twice(kind: str, number: str, other: str) -> str:
    by = f"its cluster, {other}," if kind == "cluster" else f"its JobIDRaw, {other},"
    return f"the scheduler's job {number} is told with {by} and without"


def _warn(doubts: Sequence[_Doubt]) -> None:
    said: set[str] = set()
    for doubt in doubts:
        if doubt.about not in said:
            said.add(doubt.about)
            _LOG.warning("%s%s", doubt.what, _THEN[doubt.about])


def _unsaid(connection: duckdb.DuckDBPyConnection, doubts: Sequence[_Doubt]) -> list[_Doubt]:
    if not doubts:
        return []
    said = {what for (what,) in connection.execute("select what from doubts").fetchall()}
    return [one for one in doubts if one.what not in said]


def _keep(connection: duckdb.DuckDBPyConnection, doubts: Sequence[_Doubt]) -> None:
    if not doubts:
        return
    few = doubts[:_MOST_KEPT]
    connection.execute(
        "insert into doubts select distinct * from (select unnest($1::varchar[]) as kind, "
        "unnest($2::varchar[]) as what, unnest($3::bigint[]) as job_no, "
        "unnest($4::bigint[]) as other_no) "
        "order by all limit (select greatest($5 - count(*), 0) from doubts)",
        [
            ["told_otherwise" if one.about == _WORDS else "told_twice" for one in few],
            [one.what for one in few],
            [one.job_no for one in few],
            [one.other_no for one in few],
            _MOST_KEPT,
        ],
    )
