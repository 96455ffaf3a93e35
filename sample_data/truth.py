"""What is true of a fleet, as JSON: to compare a warehouse with.

Written beside the dumps, computed from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sample_data.doings import Attempt, History
from sample_data.ledger import Account, accounts
from sample_data.planted import Planted, RollOut
from sample_data.rendering import Cloning
from sample_data.settings import Settings
from sample_data.times import DAY, day_of
from sample_data.writer import Broken, Written

FORMAT = 1

_NOTES = {
    "units": "every `_us` is integer microseconds; times are as the dump's skewed clocks tell",
    "areas": "area -> microseconds, areas of zero left out; they sum to ended_us - started_us",
    "hang": "from the last progress before training stood still to the next, or to its end",
    "unsaved": "training after the checkpoint that was restored, or could have been",
    "running": "heard of in the last six hours of the data; ends at its last sign of life",
    "category": "what really made a failed attempt fail; null for other outcomes",
    "lost": "no end was ever told; ends at its last sign of life",
    "is_complete": "false: a line of it is among `broken`, so a warehouse may rightly differ",
    "planted": "what was made worse on purpose; last_day is inclusive, null: to the end",
    "clones": "clone k of a job: its id + `-c` + k in four digits, every time minus k * shift_us. "
    "`jobs` and is_complete are of originals; `broken` is of all",
}


def truth(
    settings: Settings,
    histories: Sequence[History],
    planted: Sequence[Planted],
    roll_outs: Sequence[RollOut],
    written: Sequence[Written],
    cloning: Cloning,
) -> dict[str, Any]:
    """The whole truth; `jobs` are in order of submission."""
    broken = [each for dump in written for each in dump.broken]
    incomplete = {each.job_id for each in broken}
    return {
        "format": FORMAT,
        "notes": _NOTES,
        "settings": asdict(settings) | {"last_day": settings.last_day.isoformat()},
        "first_day": settings.first_day.isoformat(),
        "last_day": settings.last_day.isoformat(),
        "cluster_gpus": settings.gpus,
        "lines": sum(dump.lines for dump in written),
        "clock_us": max((dump.newest_us for dump in written), default=None),
        "files": [
            {"file": dump.file, "lines": dump.lines, "broken": len(dump.broken)} for dump in written
        ],
        "clones": {"copies": cloning.copies - 1, "shift_us": cloning.shift_us},
        "planted": [_planted(each, settings) for each in planted],
        "changes": [_change(each, settings) for each in roll_outs],
        "broken": [_broken(each) for each in broken],
        "jobs": {each.job.id: _job(each, incomplete) for each in histories},
    }


def write_truth(path: Path, whole: dict[str, Any]) -> None:
    """One line a job, so that two truths can be compared by eye."""
    head = {key: value for key, value in whole.items() if key not in ("jobs", "broken")}
    with path.open("w", encoding="utf-8", newline="\n") as sink:
        sink.write(json.dumps(head, indent=1, ensure_ascii=False)[:-2])
        sink.write(',\n "broken": [\n')
        sink.write(",\n".join(_compact(each) for each in whole["broken"]))
        sink.write('\n ],\n "jobs": {\n')
        sink.write(",\n".join(f'"{key}":{_compact(job)}' for key, job in whole["jobs"].items()))
        sink.write("\n }\n}\n")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _planted(each: Planted, settings: Settings) -> dict[str, Any]:
    last = None if each.last_day is None else _date(settings, each.last_day)
    dates = {"first_day": _date(settings, each.first_day), "last_day": last}
    return asdict(each) | dates | {"onset_day_number": each.first_day}


def _change(each: RollOut, settings: Settings) -> dict[str, Any]:
    return asdict(each) | {"day": _date(settings, each.day)}


def _date(settings: Settings, day: int) -> str:
    return day_of(settings.begins_us + day * DAY).isoformat()


def _broken(each: Broken) -> dict[str, Any]:
    return asdict(each)


def _job(history: History, incomplete: set[str]) -> dict[str, Any]:
    job = history.job
    return {
        "team": job.team.name,
        "workload": job.workload,
        "gpus": job.gpus,
        "submitted_us": job.submitted_us,
        "is_complete": job.id not in incomplete,
        "attempts": [
            _attempt(account, attempt)
            for account, attempt in zip(accounts(history), history.attempts, strict=True)
        ],
    }


def _attempt(account: Account, attempt: Attempt) -> dict[str, Any]:
    return {
        "attempt": account.number,
        "started_us": account.started_us,
        "ended_us": account.ended_us,
        "outcome": account.outcome,
        "category": attempt.cause.category if attempt.cause else None,
        "gpus": attempt.gpus,
        "skew_us": attempt.skew_us,
        "areas": account.areas,
        "recovery_us": account.recovery_us,
        "queue_us": account.queue_us,
        "first_batch_us": account.first_batch_us,
        "tts_us": account.tts_us,
        "ttr_us": account.ttr_us,
        "ttr_without_queue_us": account.ttr_without_queue_us,
    }
