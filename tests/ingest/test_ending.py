"""A signal ends what waits, at whatever moment it comes."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from ingest.ending import Ending
from tests.ingest.warehouses import ROOT

# each time a little later: some of the signals come while a wait begins, some while it ends
SIGNALS = """
import signal
from ingest.ending import Ending

ending = Ending()
signal.signal(signal.SIGALRM, lambda *_: ending.set())
for _ in range(20):
    for delay in range(1, 500):
        ending = Ending()
        signal.setitimer(signal.ITIMER_REAL, delay * 2e-7)
        while not ending.is_set():
            ending.wait(1e-9)
print("ended")
"""


def test_a_signal_in_the_middle_of_a_wait_is_not_waited_for() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SIGNALS], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert ("ended\n", "") == (said.stdout, said.stderr)


@pytest.mark.parametrize("is_told", [False, True])
def test_a_wait_takes_its_time_only_while_nobody_is_told_to_end(is_told: bool) -> None:
    ending = Ending()
    if is_told:
        ending.set()
    began = time.monotonic()
    ending.wait(1)

    assert is_told == ending.is_set()
    assert is_told == (time.monotonic() - began < 1)
