"""What a command says, and where: a full or closed stream is no fault of what the command does."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import TextIO


class Unsaid(BaseException):
    """Stdout takes no more. No `OSError`: nobody may take it for one of the disk it works on."""


class _Stdout(TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise Unsaid(error) from error

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise Unsaid(error) from error


class _Stderr(TextIOWrapper):
    """What cannot be said here is lost: nothing waits for it, and there is nowhere to say so."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            return


def settle() -> None:
    """Let stdout and stderr be there, and fail as this module says. A stdin that is closed is None,
    as Python has it, so that whoever wants to read it can say so.

    A character that a stream's encoding lacks stands as its escape.
    """
    _open_what_is_closed()
    sys.stdout = _over(sys.stdout, _Stdout)
    sys.stderr = _over(sys.stderr, _Stderr)


def give_up() -> None:
    """Drop what stdout has not taken, and whatever is said to it from now on."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _open_what_is_closed() -> None:
    """Else a file that is opened later gets the number, and what others say is written into it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
        if number and getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", closefd=False))


def _over(stream: TextIO, kind: type[TextIOWrapper]) -> TextIOWrapper:
    assert isinstance(stream, TextIOWrapper)
    told = (stream.encoding, stream.line_buffering, stream.write_through)
    encoding, line_buffering, write_through = told
    return kind(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=line_buffering,
        write_through=write_through,
    )
