"""Which job a log belongs to, from the place of its file. Reads no file."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ingest.collectors.base import Dump
from ingest.collectors.run_names import LONGEST_ID, as_text, called_by, names_nothing, number_of

# patterns, compiled when the first log is named; ft_launcher has a log for each cycle of a run
_SUFFIX = (
    r"(?i)(?:\.(?:txt|log|out|err|stdout|stderr|gz|zst|\d{1,3})|[.-]\d{8}(?:[-T]?\d{4,6})?"
    r"|_cycle\d{1,6})$"
)
# where sbatch puts the output if it is told nothing; that of an array's task names both
_OF_SLURM = r"slurm-(\d{1,18}(?:_\d{1,9})?)"
# and by the shortest pattern that people give it, %j.out; ranks have fewer digits
_NUMBER_ONLY = r"([1-9]\d{4,17})\.(?:out|err)(?:\.gz|\.zst|\.\d{1,3})*"

# who of a run wrote a log: `rank_3.log`, `node07/train.log`
_WRITER = r"(?i)(?:^|[^a-z])(?:rank|node|host|worker|task|proc)[-_.]?(\d{1,7})(?!\d)"
_WRITER_LEVELS = 3


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
    """The file's stem, or what its folders call the run where the stem is one that every run has.
    A rotated piece belongs to the same job as its log.
    """
    if dump.name == "-":
        return Place("stdin", None)
    place = dump.name if dump.path is None else as_text(os.path.abspath(dump.path))
    parts = [part for part in re.split(r"[/\\]", place) if part]
    stem = _stem(parts[-1])
    of_slurm = job_of_output(parts[-1])
    if of_slurm is not None:
        return Place(stem, of_slurm)
    if not names_nothing(stem):
        return Place(stem[:LONGEST_ID], None)
    folder, number = called_by(parts[:-1]), number_of(stem)
    if folder is None:
        return Place(stem[:LONGEST_ID], None, has_own=False)
    if number is not None and number not in folder.split("/"):
        folder = f"{folder}/{number}"[-LONGEST_ID:]
    return Place(folder, None, has_own=False)


def writer_of(dump: Dump) -> int | None:
    """The number of the node or rank that wrote a log, if its name or a folder tells it."""
    if dump.path is None:
        return None
    parts = reversed(as_text(os.path.abspath(dump.path)).split(os.sep)[-_WRITER_LEVELS:])
    return next((int(found[1]) for part in parts if (found := re.search(_WRITER, part))), None)


def job_of_output(name: str) -> str | None:
    """The job of Slurm whose output sbatch puts into a file of this name."""
    found = re.fullmatch(_OF_SLURM, _stem(name)) or re.fullmatch(_NUMBER_ONLY, name)
    return found[1] if found else None


def _stem(name: str) -> str:
    while cut := re.search(_SUFFIX, name):
        if not cut.start():
            break
        name = name[: cut.start()]
    return name
