"""Small native dumps with numbers that can be told by hand, ingested as users ingest theirs."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from ingest import cli

Event = dict[str, Any]
STARTUP = 100.0  # seconds of trainer_init of every attempt


def attempt(
    job_id: str,
    number: int,
    starts: datetime,
    *,
    trains: float,
    saves_every: float | None = None,
    blocked: float = 15.0,
    outcome: str = "completed",
    category: str | None = None,
    message: str | None = None,
    team: str = "ranking",
    gpus: int | None = 8,
    workload: str = "production",
) -> list[Event]:
    """An attempt that starts up for 100 s, trains for `trains` s, saves included, and ends.

    `saves_every`: seconds from the start of a save to the start of the next; each blocks `blocked`.
    """
    base = {"job_id": job_id, "attempt": number}
    begins = starts + timedelta(seconds=STARTUP)
    ends = begins + timedelta(seconds=trains)
    told = {"team": team, "gpus": gpus, "workload": workload}
    ending = {"outcome": outcome, "category": category, "message": message}
    saves = []
    while saves_every and (len(saves) + 1) * saves_every + blocked < trains:
        at = begins + timedelta(seconds=(len(saves) + 1) * saves_every)
        saves.append(_span(base, "checkpoint_save", at, blocked, step=100 * (len(saves) + 1)))
    return [
        {**base, "event": "attempt_start", "ts": _time(starts), **told},
        _span(base, "trainer_init", starts, STARTUP),
        _span(base, "training", begins, trains),
        *saves,
        {**base, "event": "attempt_end", "ts": _time(ends), **ending},
    ]


def ingest(folder: Path, events: Iterable[Event], as_of: datetime) -> Path:
    """Ingest these events into a warehouse in `folder`; every day before `as_of` is complete."""
    text = "".join(json.dumps(event) + "\n" for event in events)
    if any(folder.iterdir()) or "ETT_CONFIG" in os.environ:
        _load(folder, text, as_of)
    else:  # nothing but the events decides what comes of them
        for name, written in _ingested(text, as_of).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(written)
    return folder


@lru_cache(maxsize=16)
def _ingested(text: str, as_of: datetime) -> Mapping[Path, bytes]:
    """The files of a new warehouse: many tests look at the same one, and an ingest takes long."""
    with tempfile.TemporaryDirectory() as new:
        folder = Path(new)
        _load(folder, text, as_of)
        written = (each for each in folder.rglob("*") if each.is_file())
        return {each.relative_to(folder): each.read_bytes() for each in written}


def _load(folder: Path, text: str, as_of: datetime) -> None:
    dump = folder / "events.jsonl"
    dump.write_text(text, encoding="utf-8")
    assert 0 == cli.main([str(dump), "--warehouse", str(folder), "--as-of", _time(as_of)])


def _span(base: Event, phase: str, at: datetime, seconds: float, **more: Any) -> Event:
    ends = _time(at + timedelta(seconds=seconds))
    return {**base, "event": "phase_start", "ts": _time(at), "end_ts": ends, "phase": phase, **more}


def _time(at: datetime) -> str:
    return at.replace(tzinfo=UTC).isoformat()
