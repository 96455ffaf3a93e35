"""Commands in processes of their own that begin at once: forked where everything is imported.

The forking process itself never opens a database.
"""

from __future__ import annotations

import hashlib
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ingest import cli, keep, plan
from queries import NothingPublished, published
from tests.ingest.warehouses import contents

Action = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its status, the signal as a negative number; and what it said."""

    status: int
    said: str
    seconds: float


def eager_ingest(warehouse: Path, *arguments: object) -> Action:
    """Every dump is a batch, and every batch is published: more places to die at."""

    def act() -> int:
        plan.BATCH_FILES = 1
        cli.PUBLISH_EVERY_SECONDS, cli.PUBLISHING_SHARE = 0.0, 1.0
        return cli.main(["--warehouse", str(warehouse), *map(str, arguments)])

    return act


def command(name: str, warehouse: Path, *arguments: object) -> Action:
    """`ett-warehouse`."""
    return lambda: keep.main([name, *map(str, arguments), "--warehouse", str(warehouse)])


def run(action: Action, log: Path, kill_after: float | None = None) -> Ended:
    """Run to the end, or to a SIGKILL."""
    began = time.monotonic()
    child = start(action, log)
    if kill_after is not None:
        handle = os.pidfd_open(child)
        has_ended, _, _ = select.select([handle], [], [], kill_after)
        os.close(handle)
        if not has_ended:
            os.kill(child, signal.SIGKILL)
    _, waited = os.waitpid(child, 0)
    return Ended(
        os.waitstatus_to_exitcode(waited),
        log.read_text(encoding="utf-8", errors="replace"),
        time.monotonic() - began,
    )


def start(action: Action, log: Path) -> int:
    """Begin an action; its process id is given back."""
    child = os.fork()
    if child:
        return child
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(said, 1)
    os.dup2(said, 2)
    status = 70
    try:
        status = action()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def digest(warehouse: Path, log: Path) -> str:
    """What readers see of a warehouse, as one short text."""

    def act() -> int:
        told = {view: rows for view, rows in contents(warehouse).items() if rows}
        print(hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest())
        return 0

    ended = run(act, log)
    if ended.status:
        raise AssertionError(f"{warehouse} cannot be read: {ended.said}")
    return ended.said.strip()


def read_until_told(warehouse: Path, counts: Path) -> Action:
    """A reader without pause; writes how often it read, and every fault, until it is ended."""

    def act() -> int:
        ended = False

        def end(_number: int, _frame: object) -> None:
            nonlocal ended
            ended = True

        signal.signal(signal.SIGTERM, end)
        reads, faults = 0, list[str]()
        while not ended:
            try:
                reads += _read(warehouse)
            except (duckdb.Error, OSError, NothingPublished, AssertionError) as error:
                faults.append(repr(error))
            time.sleep(0.1)
        counts.write_text("\n".join([str(reads), *faults]), encoding="utf-8")
        return 0

    return act


def _read(warehouse: Path) -> int:
    """Read one publication from end to end. Before the first there is nothing."""
    if not (warehouse / "CURRENT").exists():
        return 0
    with duckdb.connect(str(published(warehouse)), read_only=True) as reader:
        off = reader.execute("select count(*) from identity_by_day where gap_us <> 0").fetchone()
        jobs = reader.execute("select count(*), count(distinct job_id) from jobs").fetchone()
        listed = reader.execute("select file from detail_files").fetchall()
    assert off == (0,), "areas do not sum to wall time"
    assert jobs is not None
    assert jobs[0] == jobs[1], "a job is there twice"
    for (name,) in listed:
        assert (warehouse / "detail" / name).is_file(), f"{name} is listed and missing"
    return 1
