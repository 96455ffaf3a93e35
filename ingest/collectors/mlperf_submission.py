"""Who an MLPerf result log belongs to: from where it stands in a submission, and from the system's
description beside it.

A system's description is never a dump of its own.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ingest.collectors.base import Dump
from ingest.collectors.json_values import sound

_LARGEST_DESCRIPTION = 1_000_000  # bytes
_ONE_NUMBER = re.compile(r"\D*(\d{1,7})(?:\.0+)?\D*")  # longer ones count nothing
_SUFFIX = re.compile(r"(?:\.(?:txt|log|out|gz|zst))+$")


@dataclass(frozen=True, slots=True)
class Submission:
    """`submitter/results/system/benchmark/result`; all but `result` are absent for a log that
    stands elsewhere.
    """

    result: str
    team: str | None = None
    system: str | None = None
    benchmark: str | None = None
    gpus: int | None = None
    gpu_type: str | None = None


def submission_of(dump: Dump) -> Submission:
    """Reads at most one file beside the dump: `systems/<system>.json` of its submitter."""
    if dump.path is None:
        return Submission(_SUFFIX.sub("", dump.name.rpartition("/")[2]))
    parts = Path(os.path.abspath(dump.path)).parts
    result = _SUFFIX.sub("", parts[-1])
    at = max((index for index, part in enumerate(parts[:-3]) if part == "results"), default=0)
    if at < 2:  # the root and a submitter come before it
        return Submission(result)
    system, benchmark = parts[at + 1 : at + 3]
    gpus, gpu_type = _described(Path(*parts[:at]) / "systems" / f"{system}.json")
    return Submission(
        "/".join([*parts[at + 3 : -1], result]), parts[at - 1], system, benchmark, gpus, gpu_type
    )


def gpus_in(description: object) -> tuple[int | None, str | None]:
    """GPUs and their type in a system's description; absent where a count is not exactly one
    number.
    """
    if not isinstance(description, dict):
        return None, None
    nodes, each = (
        _count(description.get(key)) for key in ("number_of_nodes", "accelerators_per_node")
    )
    kind = description.get("accelerator_model_name")
    return (
        None if nodes is None or each is None else nodes * each,
        kind.strip() or None if isinstance(kind, str) else None,
    )


def _described(file: Path) -> tuple[int | None, str | None]:
    try:
        with file.open("rb") as opened:
            return gpus_in(sound(json.loads(opened.read(_LARGEST_DESCRIPTION))))
    except (OSError, ValueError, RecursionError):
        return None, None


def _count(told: object) -> int | None:
    number = _ONE_NUMBER.fullmatch(str(told)) if isinstance(told, int | float | str) else None
    return int(number[1]) if number else None
