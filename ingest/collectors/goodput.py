"""Google's ml-goodput-measurement: when each launch of a job started and ended, prepared, stepped,
evaluated, saved and restored, told by log entries as JSON lines.

It knows when steps start and not when they end; why a launch broke off it cannot say.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.goodput_entries import entries_in
from ingest.collectors.goodput_runs import Job
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says

_COMMAND = (
    "gcloud logging read 'jsonPayload.job_name=\"JOB\"' --order=asc --format=json "
    "| jq -c '.[].jsonPayload'"
)
_LOOKED_AT = 100  # entries


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line holds an entry."""
    entries = (entry for line in head.split(b"\n") for entry in entries_in(0, line))
    return any(not isinstance(entry, Rejected) for entry in entries)


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events in file order. Raises UnreadableDump if no line is an entry, or if the newest come
    first, as Cloud Logging gives them unless it is asked otherwise.
    """
    entries = (entry for number, line in dump.lines() for entry in entries_in(number, line))
    early = list(islice(entries, _LOOKED_AT))
    times = [entry.at_us for entry in early if not isinstance(entry, Rejected)]
    if not times and len(early) < _LOOKED_AT:
        raise UnreadableDump(f"{dump.name} holds no entry of goodput. Dump again: {_COMMAND}")
    if 2 * sum(older > newer for older, newer in pairwise(times)) > len(times):
        raise UnreadableDump(f"{dump.name} has the newest first. Dump again: {_COMMAND}")
    jobs: dict[str, Job] = {}
    for entry in chain(early, entries):
        if isinstance(entry, Rejected):
            yield entry
        else:
            if entry.job_id not in jobs:
                jobs[entry.job_id] = Job(entry.job_id)
            yield from jobs[entry.job_id].take(entry)
    for job in jobs.values():
        yield from job.finish()


GOODPUT = Collector(
    name="goodput",
    says=Says(training=True, saves=True, resumes=True),
    recognises=recognises,
    read=read,
)
