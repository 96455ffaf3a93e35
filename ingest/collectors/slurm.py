"""`sacct` tables: what the scheduler did with each job. It says when a job waited, ran and ended,
never what it did.

Rows of steps are never attempts; they only tell that a job ran out of memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.slurm_blocks import read_many
from ingest.collectors.slurm_columns import columns_of
from ingest.collectors.slurm_jobs import Jobs
from ingest.collectors.slurm_rows import BOM, rows
from ingest.events import Event, Rejected, Says

_LOOKED_AT = 50  # lines


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line is a header of sacct, which names JobID beside other columns of
    sacct.
    """
    return before_table(head) is not None


def before_table(head: bytes) -> bytes | None:
    """What stands before the first header; None: there is no header."""
    lines = [line.rstrip(b"\r") for line in head.removeprefix(BOM).split(b"\n", _LOOKED_AT + 1)]
    for place, (line, underline) in enumerate(zip(lines, [*lines[1:], b""], strict=True)):
        if columns_of(line, underline) is not None:
            return b"\n".join(lines[:place])
    return None


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events of the job rows in file order. Raises UnreadableDump where the header names too
    little.
    """
    jobs = Jobs(reading)
    for row in rows(dump.name, dump.lines()):
        yield from jobs.take(row)
    yield from jobs.end()


SLURM_SACCT = Collector(
    name="slurm-sacct",
    says=Says(training=False, saves=False, resumes=False),
    recognises=recognises,
    read=read,
    read_many=read_many,
)
