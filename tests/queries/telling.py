"""Dump formats that only tests have: lines that say, word for word, what a collector would yield.

So the joining of sources is tested apart from the reading of any of them. The first line of a dump
names its format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from ingest import formats
from ingest.collectors.base import Collector, Dump, Reading
from ingest.events import Event, Rejected, Says
from ingest.formats import FORMATS, Format

SCHEDULER, TRAINER, LIBRARY = "told-scheduler", "told-trainer", "told-library"
LAUNCHER = "told-launcher"
SAYS = {
    SCHEDULER: Says(training=False, saves=False, resumes=False),
    TRAINER: Says(training=True, saves=True, resumes=True),
    LIBRARY: Says(training=True, saves=False, resumes=False),
    LAUNCHER: Says(training=False, saves=True, resumes=True),
}


def register(patch: pytest.MonkeyPatch) -> None:
    """Let `ett-ingest` in this process know the formats."""
    collectors = [
        Collector(name, says, partial(_is_called, name), _read) for name, says in SAYS.items()
    ]
    for collector in collectors:
        patch.setitem(FORMATS, collector.name, Format(collector.name, collector.says, collector))
    patch.setattr(formats, "COLLECTORS", (*formats.COLLECTORS, *collectors))


def write_told(path: Path, format: str, events: Iterable[Mapping[str, Any]]) -> Path:
    """Write events as a collector yields them, one a line, under the name of their format."""
    lines = [f"{format}\n", *(json.dumps(event) + "\n" for event in events)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _is_called(format: str, _name: str, head: bytes) -> bool:
    return head.startswith(f"{format}\n".encode())


def _read(dump: Dump, _reading: Reading) -> Iterator[Event | Rejected]:
    lines = dump.lines()
    next(lines)
    for _, line in lines:
        yield cast(Event, json.loads(line))
