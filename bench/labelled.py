"""The labelled lines and logs of tests/ingest/classification, as its README tells their format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "ingest" / "classification"
SETS = ("written", "held_back")
NONE = "none"

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Message:
    """One event's evidence and the category that it proves, `none` for no failure."""

    category: str
    text: str | None
    exit_code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log, its cause, and the number of the line that shows it; null for none."""

    name: str
    category: str
    line_number: int | None
    lines: tuple[str, ...]


def messages(which: str) -> list[Message]:
    """The single messages of a set."""
    return [
        Message(category, _text(text) or None, _number(exit_code), _number(signal))
        for category, exit_code, signal, text in _rows(FOLDER / f"{which}_lines.tsv")
    ]


def logs(which: str) -> list[Log]:
    """The whole logs of a set: successive rows of one name, of which one may carry the cause."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, cause, text in _rows(FOLDER / f"{which}_logs.tsv"):
        found.setdefault(name, []).append((cause, _text(text)))
    return [_log(name, rows) for name, rows in found.items()]


def _log(name: str, rows: list[tuple[str, str]]) -> Log:
    marked = [(number, cause) for number, (cause, _) in enumerate(rows, start=1) if cause]
    number, category = marked[0] if marked else (None, NONE)
    return Log(name, category, number, tuple(text for _, text in rows))


def _rows(file: Path) -> Iterator[list[str]]:
    header, *rows = file.read_text(encoding="utf-8").rstrip("\n").split("\n")
    for row in rows:
        yield row.split("\t", header.count("\t"))


def _text(escaped: str) -> str:
    return re.sub(r"\\(.)", lambda escape: _ESCAPES[escape[1]], escaped)


def _number(cell: str) -> int | None:
    return int(cell) if cell else None
