"""Ctrl-C in the middle of a query of the real engine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import duckdb
import pytest

from queries.interrupts import as_keyboard_interrupt

LONG = """
import sys

import duckdb

from queries.interrupts import as_keyboard_interrupt

connection = duckdb.connect()
try:
    with as_keyboard_interrupt():
        print("begun", flush=True)
        connection.execute("select sum(a.range * b.range) from range(9000000) a, range(9000000) b")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_query_that_is_interrupted_is_told_as_an_interrupt() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)  # into the query
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)

    assert (130, b"") == (process.returncode, said)


@pytest.mark.parametrize("error", [RuntimeError("of another kind"), duckdb.DataError("of a value")])
def test_other_errors_stay_what_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, as_keyboard_interrupt():
        raise error

    assert error is raised.value
