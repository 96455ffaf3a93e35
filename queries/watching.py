"""How the watcher of `ett-ingest --watch` is: a small file beside CURRENT, replaced in one step.

Written by the watcher, read by the exporter, which must not know how dumps are read.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FILE = "watch.json"


@dataclass(frozen=True, slots=True)
class Watching:
    """Times are Unix seconds.

    `succeeded_at`: when all that had been seen was last loaded and published, or there was nothing
    to load. Of one that has not got so far it is when its forerunner had, where that was killed,
    else its own start; null: told by an older release. `lag_seconds`: how long the oldest news had
    waited when this was written; 0: there was none. `backlog_files`: files with news that is not
    loaded.
    """

    written_at: float
    succeeded_at: float | None
    lag_seconds: float
    backlog_files: int


def place(warehouse: Path) -> Path:
    """Where the file lies."""
    return warehouse / FILE


def write(warehouse: Path, watching: Watching) -> None:
    """Replace the file. Not synced: after a power loss there is no watcher to tell of."""
    building = place(warehouse).with_suffix(".building")
    building.write_text(json.dumps(asdict(watching)) + "\n", encoding="utf-8")
    os.replace(building, place(warehouse))


def forget(warehouse: Path) -> None:
    """The watcher ends as it was told to: nobody must wait for its next word."""
    place(warehouse).unlink(missing_ok=True)


def read(warehouse: Path) -> Watching | None:
    """What the watcher said last; None: there was none, or nothing that can be understood."""
    try:
        said = json.loads(place(warehouse).read_text(encoding="utf-8"))
        succeeded_at = said["succeeded_at"]
        return Watching(
            _number(said["written_at"]),
            None if succeeded_at is None else _number(succeeded_at),
            _number(said["lag_seconds"]),
            int(_number(said["backlog_files"])),
        )
    # the last two come of numbers past all bounds, and of brackets within brackets
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _number(told: Any) -> float:
    number = float(told)
    if not math.isfinite(number):
        raise ValueError(f"{told} is past all bounds")
    return number
