"""What an ingest says on the way where nobody sees a bar: how far it is, and how long it takes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ingest import progress
from ingest.progress import Progress

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
        told.parsed(59_000_000)
    # a tenth for what was read, nine for what was loaded; at most every ten seconds
    assert said(caplog) == [
        "37 % of 100.0 MB, about 6 min left",
        "91 % of 100.0 MB, about 26 s left",
    ]


def test_a_batch_that_is_begun_anew_promises_nothing(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ingest")
    with Progress(1_000_000) as told:
        told.parsed(500_000)
        clock.now += 20.0
        told.parsed(-500_000)
    assert said(caplog) == ["0 % of 1.0 MB"]
