"""`sacct --json`: what the scheduler did with each job, in the words of the table that sacct prints
without it. It says when a job waited, ran and ended, never what it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.collectors.base import Block, Collector, Dump, Reading
from ingest.collectors.slurm_events import events, told_by
from ingest.collectors.slurm_json_jobs import Job, Jobs, undressed
from ingest.collectors.slurm_json_rows import absurd, oom_step_of, row_of
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says

_COMMAND = "sacct -a -D --json -S 2026-01-01"
_LIST = re.compile(rb'"jobs"\s*:\s*\[')
# squeue and scontrol have lists of jobs too, in other words
_SACCT = re.compile(
    rb'"association"\s*:\s*\{|"submission"\s*:|openapi\\?/dbv|"command"\s*:\s*\[\s*"[^"]*sacct"'
)


def recognises(_name: str, head: bytes) -> bool:
    """Whether a list of jobs begins early, and they are in sacct's words."""
    head = undressed(head)
    return _LIST.search(head) is not None and _SACCT.search(head) is not None


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events of the jobs in file order. Raises UnreadableDump where there is no list of jobs."""
    return _read(dump, reading, dump.lines())


def read_many(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """As `read`, with as many lines in memory as a block has."""
    return _read(dump, reading, dump.blocks())


def _read(dump: Dump, reading: Reading, blocks: Iterator[Block]) -> Iterator[Event | Rejected]:
    jobs = Jobs(blocks)
    for job in jobs.read():
        if isinstance(job, Rejected):
            yield job
        else:
            yield from _events(job, reading)
    if not jobs.lists:
        raise UnreadableDump(
            f"{dump.name} holds no list of jobs. Dump again: {_COMMAND}. "
            "Is it all on one line of over 16 MB? Then break it up first: jq ."
        )


def _events(job: Job, reading: Reading) -> Iterator[Event | Rejected]:
    row = row_of(job)
    told = (
        row
        if isinstance(row, Rejected)
        else told_by(row, reading, oom_step_of(row, job), are_codes_whole=True)
    )
    happened = told if isinstance(told, Rejected) else events(told, reading)
    if isinstance(happened, Rejected):
        yield happened
    else:
        yield from happened
        yield from absurd(job)


SLURM_JSON = Collector(
    name="slurm-json",
    says=Says(training=False, saves=False, resumes=False),
    recognises=recognises,
    read=read,
    read_many=read_many,
)
