"""Counts in sentences."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """A count with its word: `1 job`, `2,000 jobs`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
