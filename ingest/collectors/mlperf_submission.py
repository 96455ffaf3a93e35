"""Who an MLPerf result log belongs to: from where it stands in a submission, and from the system's
description beside it.

A system's description is never a dump of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ingest.collectors.base import Dump
from ingest.collectors.json_values import MOST_GPUS, sound

_LARGEST_DESCRIPTION = 1_000_000  # bytes
_ONE_NUMBER = re.compile(r"\D*(\d{1,7})(?:\.0+)?\D*")  # longer ones count nothing
_SUFFIX = re.compile(r"(?:\.(?:txt|log|out|gz|zst))+$")
# folders between a system and its benchmarks, in rounds of the HPC benchmarks
_SCALINGS = ("strong", "weak")
# what those logs tell of the processes of one run, which may be one of many on the system
RUN_SIZE = ("number_of_ranks", "number_of_nodes", "accelerators_per_node")


@dataclass(frozen=True, slots=True)
class Submission:
    """`submitter/results/system/benchmark/result`; all but `result` are absent for a log that
    stands elsewhere. `result` has the folders below the benchmark, and its scaling.
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
    system, *below = parts[at + 1 : -1]
    if below[0] in _SCALINGS and len(below) > 1:
        below[:2] = reversed(below[:2])
    gpus, gpu_type = _described(Path(*parts[:at]) / "systems" / f"{system}.json")
    return Submission(
        "/".join([*below[1:], result]), parts[at - 1], system, below[0], gpus, gpu_type
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
        _product(nodes, each),
        kind.strip() or None if isinstance(kind, str) else None,
    )


def gpus_of(facts: Mapping[str, object]) -> int | None:
    """GPUs of one run, where its log tells how large it was: a process has one each, for what is
    told of nodes may be the whole system's.
    """
    ranks, nodes, each = (_count(facts.get(key)) for key in RUN_SIZE)
    return ranks if ranks and each else _product(nodes, each)


def _product(nodes: int | None, each: int | None) -> int | None:
    """None also where nobody has so many."""
    return None if nodes is None or each is None or nodes * each > MOST_GPUS else nodes * each


def _described(file: Path) -> tuple[int | None, str | None]:
    try:
        with file.open("rb") as opened:
            return gpus_in(sound(json.loads(opened.read(_LARGEST_DESCRIPTION))))
    except (OSError, ValueError, RecursionError):
        return None, None


def _count(told: object) -> int | None:
    number = _ONE_NUMBER.fullmatch(str(told)) if isinstance(told, int | float | str) else None
    return int(number[1]) if number else None
