"""Dump formats that only tests have: lines that say, word for word, what a collector would yield.

So the joining of sources is tested apart from the reading of any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from ingest.collectors.base import Collector, Dump, Reading
from ingest.events import Event, Rejected, Says
from ingest.formats import FORMATS, Format

SCHEDULER, TRAINER, LIBRARY = "told-scheduler", "told-trainer", "told-library"
SAYS = {
    SCHEDULER: Says(training=False, saves=False, resumes=False),
    TRAINER: Says(training=True, saves=True, resumes=True),
    LIBRARY: Says(training=True, saves=False, resumes=False),
}


def register(patch: pytest.MonkeyPatch) -> None:
    """Let `ett-ingest` in this process know the formats."""
    for name, says in SAYS.items():
        collector = Collector(name, says, _never, _read)
        patch.setitem(FORMATS, name, Format(name, says, collector))


def write_told(path: Path, events: Iterable[Mapping[str, Any]]) -> Path:
    """Write events as a collector yields them, one a line."""
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


def _never(_name: str, _head: bytes) -> bool:
    return False


def _read(dump: Dump, _reading: Reading) -> Iterator[Event | Rejected]:
    for _, line in dump.lines():
        yield cast(Event, json.loads(line))
