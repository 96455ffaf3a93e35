"""A watcher as users run it, in a process of its own, and what it has published so far."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from queries import NothingPublished, published
from tests.ingest.warehouses import ROOT, command
from tests.queries.engine import rows

PATIENCE_SECONDS = 120


@dataclass(slots=True)
class Watcher:
    """`ett-ingest --watch` on a warehouse; what it says goes to a file."""

    warehouse: Path
    settings: Path
    log: Path
    process: subprocess.Popen[bytes]
    heard: int = 0  # characters of what it says that are no concern of who asks

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")[self.heard :]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait. Returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


def start(
    warehouse: Path,
    *arguments: object,
    every: float = 0.3,
    more: str = "",
    wrapped: Sequence[str] = (),
    settings: Path | None = None,
) -> Watcher:
    """Start a watcher that publishes as often as this, under `more` settings."""
    settings = settings or warehouse.with_name(f"{warehouse.name}.toml")
    settings.write_text(f"publish_every = {every}\n{more}", encoding="utf-8")
    log = warehouse.with_name(f"{warehouse.name}.log")
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*wrapped, *command(warehouse, "--watch", *arguments)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "ETT_CONFIG": str(settings)},
            stdout=out,
            stderr=out,
        )
    return Watcher(warehouse, settings, log, process)


def until(watcher: Watcher, holds: Callable[[], object], what: str) -> None:
    """Wait for something that must come to be, however slow the machine is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert watcher.process.poll() is None, watcher.said()
        assert time.monotonic() < deadline, f"{what} never came: {watcher.said()}"
        time.sleep(0.05)


def until_job(watcher: Watcher, job: str) -> None:
    """Wait until readers see a job. Each publication is looked into once: that is work, too."""
    looked_into = None

    def is_there() -> bool:
        nonlocal looked_into
        current = _published(watcher)
        if current is None or current == looked_into:
            return False
        found = seen(watcher, "select 1 from jobs where job_id = ?", job)
        looked_into = None if found is None else current
        return bool(found)

    until(watcher, is_there, job)


def seen(watcher: Watcher, sql: str, *parameters: object) -> list[tuple[Any, ...]] | None:
    """What readers see now; None: nothing, or the file was replaced twice while it was opened."""
    try:
        return rows(watcher.warehouse, sql, parameters)
    except (NothingPublished, duckdb.IOException):
        return None


def _published(watcher: Watcher) -> Path | None:
    try:
        return published(watcher.warehouse)
    except NothingPublished:
        return None
