"""What a process that goes on whatever happens says of it: each once, until it is over."""

from __future__ import annotations

import errno
import logging
import os
import re

import duckdb

from ingest.errors import UnusableArguments

# no room, or no permission: what the system says of it stands in whatever an error says
_REFUSALS = tuple(
    os.strerror(number)
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
)
_NUMBER = re.compile(r"\d+")
_LOG = logging.getLogger("ingest")


class Troubles:
    """What keeps the watcher from something that it tries again and again: each told once."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def tell(self, doing: str, error: Exception, sentence: str) -> None:
        """Say it, unless it was said, whatever it kept from being done, and is not over since."""
        kind = _kind(error)
        if kind not in self._told:
            _LOG.warning("%s", sentence)
            self._told[kind] = doing

    def are_over(self, doing: str) -> None:
        """What was tried succeeded: troubles that come back are told anew."""
        self._told = {kind: what for kind, what in self._told.items() if what != doing}


def _kind(error: Exception) -> str:
    """What the disk refuses is told in other words each time, by the engine and by the system."""
    said = str(error)
    if isinstance(error, UnusableArguments):  # of the file of settings
        return said
    if refused := next((why for why in _REFUSALS if why in said), None):
        return refused
    # the engine tells sizes and places too
    return _NUMBER.sub("", said) if isinstance(error, duckdb.Error) else said
