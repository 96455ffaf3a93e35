"""What a run is called by the folders that its files lie in. Reads no file.

Some folders every run has (`logs`, `rank0`), and some a run has several of (`attempt1`): they name
nothing, the one above does. What stands under a date, under a time, under the number of a job or as
one of many (`2026-11-25/10-00-00`, `48213`, `version_2`) is mostly a run of its own, called by the
folder above and that: were it a try of one run, the next would take its place, and what is not
saved would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LEVELS = 6  # of folders that may name a run
LONGEST_ID = 256

# Patterns, compiled when the first name is asked for: most ingests ask for none.
# no name can be split into these in two ways: else a long one would take for ever
_NO_NAME = (
    r"(?i)(?:torch|elastic|dcp|slurm|lightning|hydra|multirun|run|(?<![a-z])srun|mpirun|agent|"
    r"node|host|rank|worker|train(?:er|ing)?|main|version|trial|job|nohup|std|out(?:put)?s?|"
    r"err(?:or)?s?|logs?|logg(?:ers?|ing)|events?|records?|console|debug|info|attempt|retry|try|"
    r"local|global|default|none|tmp|dumps?|files?|text|[\d_.:+-]|(?<=\d)[TZ])+"
)
_OF_A_PART = r"(?i)node|host|rank|worker|agent|attempt|retry|try|local|global"
_ONE_OF_MANY = r"(?i)(?:^|[_.-])(?:run|version|trial|job)[_.-]?\d+$"
_DATE = r"\d{4}([-_.])\d\d\1\d\d"
_TIME = r"\d\d([-_])\d\d\2\d\d"
_MOMENT = rf"(?:^|[^\d._-]|(?<=\D)[._-])(?:{_DATE}(?:[T_.-]\d[\d_.:+-]*Z?)?|{_TIME})(?![\d._-])"
_MANY = r"(?i)multirun|sweeps?"  # whatever is numbered below
_NUMBER = r"(?<!\d)[1-9]\d{4,18}(?!\d)"
# a day, or a moment: of a file it may be the day that it was rotated at
_DAY = r"(?:19|20)\d{6}(?:\d{4}|\d{6})?"


def as_text(path: str) -> str:
    """A path of any bytes as text that can be kept."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def names_nothing(name: str) -> bool:
    """Whether a file or a folder of this name is one that every run has."""
    return not name or re.fullmatch(_NO_NAME, name) is not None


def is_part(way: Sequence[str]) -> bool:
    """Whether the last of these folders, each in the one before, is a part of the run that one
    above it is of.
    """
    return names_nothing(way[-1]) and not _is_one_of_many(way)


def called_by(way: Sequence[str]) -> str | None:
    """The name of the run whose files lie in the last of these folders, each in the one before."""
    kept: list[str] = []
    for depth in range(len(way), max(len(way) - LEVELS, 0), -1):
        if not is_part(way[:depth]):
            kept.append(way[depth - 1])
        if not names_nothing(way[depth - 1]):
            break
    return as_text("/".join(reversed(kept)))[-LONGEST_ID:] or None


def number_of(stem: str) -> str | None:
    """The number of a job in the name of a file that names nothing else: `48213`, `train-48213`."""
    found = None if re.search(_OF_A_PART, stem) else re.search(_NUMBER, stem)
    return None if found is None or re.fullmatch(_DAY, found[0]) else found[0]


def _is_one_of_many(way: Sequence[str]) -> bool:
    folder = way[-1]
    if re.search(_OF_A_PART, folder):
        return False
    if folder.isdecimal() and any(re.fullmatch(_MANY, each) for each in way[-LEVELS:]):
        return True
    return any(re.search(pattern, folder) for pattern in (_ONE_OF_MANY, _MOMENT, _NUMBER))
