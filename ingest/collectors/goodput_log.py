"""A log of goodput line by line: its entries, each given to the job that it names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from ingest.collectors.goodput_entries import Entry, Operation, entries_in
from ingest.collectors.goodput_runs import Job
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected

_LOG = logging.getLogger("ingest")

# as docs/sources/goodput.md has it: Orbax's entries are in a log of their own, and without
# --freshness those of the last day are all that comes
_COMMAND = (
    'gcloud logging read \'logName:"goodput_JOB" OR logName:"checkpoint_JOB"\' --order=asc '
    "--freshness=30d --format=json | jq -c '.[].jsonPayload'"
)
_LOOKED_AT = 100  # entries
_MANY_REPEATS = 3  # of one job: one or two may be steps that were tried again

_Heard = Entry | Operation | Rejected


@dataclass(slots=True)
class Log:
    """The first entries wait until they tell in which order the log is."""

    name: str
    jobs: dict[str, Job] = field(default_factory=dict)
    _early: list[_Heard] | None = field(default_factory=list)

    def take(self, number: int, line: bytes) -> Iterator[Event | Rejected]:
        """What is certain with this line. Raises UnreadableDump if the newest come first."""
        for entry in entries_in(number, line):
            if self._early is None:
                yield from self._hear(entry)
                continue
            self._early.append(entry)
            if len(self._early) == _LOOKED_AT:
                yield from self._begin(self._early)

    def finish(self) -> Iterator[Event | Rejected]:
        """What is certain at the end. Raises UnreadableDump also if no line was an entry."""
        if self._early is not None:
            yield from self._begin(self._early)
        for job in self.jobs.values():
            yield from job.finish()
            if job.repeats >= _MANY_REPEATS:
                _LOG.warning(
                    "%s: job %s: %s of its steps are told twice in a row, each of which counts as "
                    "an attempt that went back. If several hosts write its log, let one do so "
                    "(GoodputRecorder(..., logging_enabled=jax.process_index() == 0)), and ingest "
                    "the entries of one host into a new warehouse (--warehouse)",
                    self.name,
                    job.job_id,
                    f"{job.repeats:,}",
                )

    def _begin(self, early: list[_Heard]) -> Iterator[Event | Rejected]:
        self._early = None
        times = [entry.at_us for entry in early if not isinstance(entry, Rejected)]
        if not times and len(early) < _LOOKED_AT:
            raise UnreadableDump(f"{self.name} holds no entry of goodput. Dump again: {_COMMAND}")
        if 2 * sum(older > newer for older, newer in pairwise(times)) > len(times):
            raise UnreadableDump(f"{self.name} has the newest first. Dump again: {_COMMAND}")
        for entry in early:
            yield from self._hear(entry)

    def _hear(self, entry: _Heard) -> Iterator[Event | Rejected]:
        if isinstance(entry, Rejected):
            yield entry
            return
        if entry.job_id not in self.jobs:
            self.jobs[entry.job_id] = Job(entry.job_id)
        yield from self.jobs[entry.job_id].take(entry)
