"""`sacct` tables: what the scheduler did with each job. It says when a job waited, ran and ended,
never what it did.

Rows of steps are never attempts; they only tell that a job ran out of memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.collectors.base import Collector, Dump, Reading
from ingest.collectors.slurm_columns import columns_of
from ingest.collectors.slurm_events import events
from ingest.collectors.slurm_rows import Row, rows
from ingest.collectors.slurm_states import known_state
from ingest.events import Event, Rejected, Says

_BOM = b"\xef\xbb\xbf"
_LOOKED_AT = 50  # lines


def recognises(_name: str, head: bytes) -> bool:
    """Whether some early line is a header of sacct, which names JobID beside other columns of
    sacct.
    """
    lines = [line.rstrip(b"\r") for line in head.removeprefix(_BOM).split(b"\n", _LOOKED_AT + 1)]
    return any(
        columns_of(line, underline) is not None
        for line, underline in zip(lines, [*lines[1:], b""], strict=True)
    )


def read(dump: Dump, reading: Reading) -> Iterator[Event | Rejected]:
    """Events of the job rows in file order. Raises UnreadableDump where the header names too
    little.

    A row waits for the steps that follow it: a job that Slurm calls FAILED is out of memory if one
    of its steps is.
    """
    waiting: Row | None = None
    oom_step: str | None = None
    for row in rows(dump.name, dump.lines()):
        if isinstance(row, Rejected):
            yield row
            continue
        if _is_step(row):
            if waiting is not None and _is_oom(row) and _belongs(row, waiting):
                oom_step = oom_step or _identity(row)
            continue
        if waiting is not None:
            yield from _events(waiting, reading, oom_step)
        waiting, oom_step = row, None
    if waiting is not None:
        yield from _events(waiting, reading, oom_step)


def _events(row: Row, reading: Reading, oom_step: str | None) -> Iterator[Event | Rejected]:
    told = events(row, reading, oom_step)
    if isinstance(told, Rejected):
        yield told
    else:
        yield from told


def _identity(row: Row) -> str:
    return row.cells.get("JobID") or row.cells["JobIDRaw"]


def _is_step(row: Row) -> bool:
    return "." in row.cells.get("JobID", "") or "." in row.cells.get("JobIDRaw", "")


def _belongs(step: Row, row: Row) -> bool:
    return _identity(step).startswith(f"{_identity(row)}.")


def _is_oom(step: Row) -> bool:
    return known_state(step.cells["State"]) == "OUT_OF_MEMORY"


SLURM_SACCT = Collector(
    name="slurm-sacct",
    says=Says(training=False, saves=False, resumes=False),
    recognises=recognises,
    read=read,
)
