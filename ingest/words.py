"""Sentences for a terminal."""

from __future__ import annotations

import logging


def counted(number: int, word: str) -> str:
    """A count with its word: `1 job`, `2,000 jobs`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def first_line(error: Exception) -> str:
    """What the engine says, without its stop, and without the lines of advice behind it."""
    told = str(error).strip() or type(error).__name__
    return told.splitlines()[0].rstrip(".")


def shown(line: str) -> str:
    """What a terminal must not obey stands as its escape."""
    return "".join(map(_letter, line))


def on_one_line(record: logging.LogRecord) -> bool:
    """A filter that lets all through: whatever names a line tells, none can look like another
    line.
    """
    record.msg, record.args = shown(record.getMessage()), None
    return True


def _letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    # how Python keeps a byte that is no UTF-8
    is_byte = "\udc80" <= letter <= "\udcff"
    return f"\\x{ord(letter) - 0xDC00:02x}" if is_byte else ascii(letter)[1:-1]
