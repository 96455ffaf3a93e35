"""What an ingest says on the way where nobody sees a bar: how far it is, and how long it takes."""

from __future__ import annotations

import logging
import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from ingest import progress
from ingest.progress import Progress
from tests.ingest.warehouses import ROOT, command, life
from tests.queries.engine import ingest, write_dump

START = 1_000.0


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = START

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    told = Clock()
    with monkeypatch.context() as patched:
        patched.setattr(progress, "time", told)
        yield told


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_long_ingest_says_how_long_it_will_still_take(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ingest")
    with Progress(100_000_000) as told:
        told.read(100_000_000)
        clock.now += 200.0
        told.parsed(30_000_000)
        clock.now += 5.0
        told.parsed(1_000_000)
        clock.now += 60.0
        told.parsed(69_000_000)
        clock.now += 300.0
        told.computed(100_000_000)
        clock.now += 20.0
        told.published()
    # a twentieth for what was read, five for what was parsed, ten for what was computed; at most
    # every ten seconds
    assert said(caplog) == [
        "12 % of 100.0 MB, about 23 min left",
        "30 % of 100.0 MB, about 10 min left",
        "80 % of 100.0 MB, about 2 min left",
        "100 % of 100.0 MB",
    ]


def test_what_is_parsed_but_not_computed_is_neither_done_nor_done_in_a_second(clock: Clock) -> None:
    with Progress(100_000_000) as told:
        clock.now += 3.0
        told.read(100_000_000)
        told.parsed(100_000_000)
        assert told.pace() == "10.0 MB/s 0:00:07"

        clock.now += 6.0
        assert told.pace() == "3.3 MB/s 0:00:01"

        clock.now += 6.0  # it takes longer than what was done let expect
        assert told.pace() == "2.0 MB/s"

        told.computed(100_000_000)
        assert told.pace() == "5.3 MB/s 0:00:04"


def test_what_is_skipped_waits_for_the_publication_only(clock: Clock) -> None:
    with Progress(100_000_000) as told:
        told.read(100_000_000)
        clock.now += 8.0
        told.skipped(100_000_000)
        assert told.pace() == "10.0 MB/s 0:00:02"

        told.published()
        assert told.pace() == "12.5 MB/s"


def test_a_batch_that_is_begun_anew_promises_nothing(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ingest")
    with Progress(1_000_000) as told:
        told.parsed(500_000)
        clock.now += 20.0
        told.parsed(-500_000)
    assert said(caplog) == ["0 % of 1.0 MB"]


def test_an_ingest_is_done_when_it_is_published_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "_QUIET_SECONDS", -1.0)
    dumps = [write_dump(tmp_path / f"{job}.jsonl", life(job)) for job in "ab"]
    ingest(tmp_path / "warehouse", dumps[0])
    caplog.clear()
    caplog.set_level(logging.INFO, logger="ingest")
    ingest(tmp_path / "warehouse", *dumps)  # one is known, of the other there is all to do

    assert ["2 %", "40 %", "42 %", "55 %", "80 %", "100 %"] == [
        line.partition(" of ")[0] for line in said(caplog)
    ]


def test_a_terminal_shows_a_bar_that_ends_with_all_events(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump.jsonl", life("a"))
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "rb") as screen,
        subprocess.Popen(
            command(tmp_path / "warehouse", dump),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"},
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        ) as ingest_,
    ):
        os.close(theirs)
        drawn = b"".join(iter(lambda: _next(screen), b"")).decode()

    assert 0 == ingest_.returncode
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*\w", "", drawn))
    *_, last = [line for line in lines if "ingesting" in line]
    assert re.search(r"(\d+)/\1 bytes .*MB/s.* 4 events", last), last


def _next(screen: BinaryIO) -> bytes:
    """What is drawn next; nothing once nobody draws, which Linux tells as an error."""
    try:
        return os.read(screen.fileno(), 65_536)
    except OSError:
        return b""
