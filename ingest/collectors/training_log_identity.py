"""Which job a log belongs to, from the place of its file. Reads no file."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ingest.collectors.base import Dump

_SUFFIX = re.compile(
    r"(?i)(?:\.(?:txt|log|out|err|stdout|stderr|gz|zst|\d{1,3})|[.-]\d{8}(?:[-T]?\d{4,6})?)$"
)
_NO_NAME = re.compile(
    r"(?i)(?:(?:torchrun|srun|mpirun|node|host|rank|worker|trainer|train(?:ing)?|main|run|job|nohup|"
    r"std|out(?:put)?s?|err(?:or)?s?|logs?|console|debug|info|attempt|local|global|stdout|stderr|"
    r"default|none|tmp|dumps?|files?|text)[_.-]?|[\d_.-]+)+"
)
# where sbatch puts the output if it is told nothing; that of an array's task names both
_OF_SLURM = re.compile(r"slurm-(\d{1,18}(?:_\d{1,9})?)")
_LEVELS = 5  # of folders that may name a run
_LONGEST_ID = 256


class Place(NamedTuple):
    """What the path says: a name, and the job of Slurm if it is the name that sbatch gives.

    A launcher's own name for the run is stronger than the log's: its other files say it too. None:
    its runs have no id, and the job of Slurm is their name. `has_own`: the file has a name of its
    own, not its folder only.
    """

    name: str | None
    scheduler_job: str | None
    is_of_launcher: bool = False
    has_own: bool = True


def place_of(dump: Dump) -> Place:
    """The file's stem, or the nearest folder with a name where the stem is one that every run has.
    A rotated piece belongs to the same job as its log.
    """
    if dump.name == "-":
        return Place("stdin", None)
    place = dump.name if dump.path is None else os.path.abspath(dump.path)
    parts = [part for part in re.split(r"[/\\]", place) if part]
    stem = _stem(parts[-1])
    of_slurm = job_of_output(parts[-1])
    if of_slurm is not None:
        return Place(stem, of_slurm)
    for name in [stem, *reversed(parts[-1 - _LEVELS : -1])]:
        if name and not _NO_NAME.fullmatch(name):
            return Place(name[:_LONGEST_ID], None, has_own=name == stem)
    return Place(stem[:_LONGEST_ID], None, has_own=False)


def job_of_output(name: str) -> str | None:
    """The job of Slurm whose output sbatch puts into a file of this name."""
    of_slurm = _OF_SLURM.fullmatch(_stem(name))
    return of_slurm[1] if of_slurm else None


def _stem(name: str) -> str:
    while cut := _SUFFIX.search(name):
        if not cut.start():
            break
        name = name[: cut.start()]
    return name
