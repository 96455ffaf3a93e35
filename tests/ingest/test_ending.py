"""A signal ends what waits, at whatever moment it comes."""

from __future__ import annotations

import subprocess
import sys
import time

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
ending = Ending()
signal.setitimer(signal.ITIMER_REAL, 0.1)
ending.wait(3600)
print("ended")
"""


def test_a_signal_in_the_middle_of_a_wait_is_not_waited_for() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SIGNALS], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert ("ended\n", "") == (said.stdout, said.stderr)


def test_a_wait_takes_its_time_while_nobody_is_told_to_end() -> None:
    ending = Ending()
    began = time.monotonic()
    ending.wait(0.5)

    assert not ending.is_set()
    assert time.monotonic() - began >= 0.5
    ending.set()
    ending.wait(3600)  # and none from then on
    assert ending.is_set()
