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
from ingest.errors import UnreadableDump
from ingest.events import Event, Rejected, Says

_LOOKED_AT = 50  # lines


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line is a header of sacct, which names JobID beside other columns of
    sacct.
    """
    return before_table(head) is not None


def before_table(head: bytes) -> bytes | None:
    """What stands before the first header; None: there is no header."""
    lines = _lines(head)
    place = _header(lines)
    return None if place is None else b"\n".join(lines[:place])


def beside_table(head: bytes) -> bytes:
    """What is no row of the tables, where that is more than they are; else nothing.

    A few lines beside many rows are rows that are broken, whatever they hold. Of a table with too
    few columns to be a dump, as jobs print them, it is all that follows its header.
    """
    lines = _lines(head)
    found = 0
    others = set()
    try:
        for told in rows("", iter(enumerate(lines, 1))):
            if isinstance(told, Rejected):
                others.add(told.line_number)
            else:
                found += 1
    except UnreadableDump:
        return b"\n".join(lines[(_header(lines) or 0) + 1 :])
    beside = [line for number, line in enumerate(lines, 1) if number in others]
    return b"\n".join(beside) if len(beside) > found else b""


def _lines(head: bytes) -> list[bytes]:
    return [line.rstrip(b"\r") for line in head.removeprefix(BOM).split(b"\n")]


def _header(lines: list[bytes]) -> int | None:
    early = lines[:_LOOKED_AT]
    for place, (line, underline) in enumerate(zip(early, [*lines[1:], b""], strict=False)):
        if columns_of(line, underline) is not None:
            return place
    return None


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events of the job rows in file order. Raises UnreadableDump where the header names too
    little.
    """
    jobs = Jobs(reading)
    for row in rows(dump.name, dump.lines()):
        yield from jobs.take(row)
    yield from jobs.end()
    jobs.warn(dump.name)


SLURM_SACCT = Collector(
    name="slurm-sacct",
    says=Says(training=False, saves=False, resumes=False),
    recognises=recognises,
    read=read,
    read_many=read_many,
)
