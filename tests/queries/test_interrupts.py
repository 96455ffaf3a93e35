"""Ctrl-C in the middle of a query of the real engine."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from unittest.mock import Mock

import duckdb
import pytest

from queries.interrupts import as_keyboard_interrupt, reached_by_ctrl_c

LONG = """
import signal
import sys

import duckdb

from queries.interrupts import as_keyboard_interrupt, reached_by_ctrl_c

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
connection = duckdb.connect()
try:
    with as_keyboard_interrupt(), reached_by_ctrl_c(connection):
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
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()  # a query without an end has no other

    assert (130, b"") == (process.returncode, said)


def interrupted(within: Mock) -> int:
    with suppress(KeyboardInterrupt), reached_by_ctrl_c(within):
        signal.raise_signal(signal.SIGINT)
    return within.interrupt.call_count


def test_ctrl_c_is_told_to_the_engine_too() -> None:
    # of four runs of the test above one hung where it was not: the engine's thread had the query
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        told = interrupted(Mock(spec=duckdb.DuckDBPyConnection))
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (1, signal.default_int_handler) == (told, after)


def test_a_handler_that_only_takes_note_ends_no_query() -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        told = interrupted(Mock(spec=duckdb.DuckDBPyConnection))
    finally:
        signal.signal(signal.SIGINT, before)

    assert ([signal.SIGINT], 0) == (noted, told)


def test_where_ctrl_c_is_ignored_it_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told = interrupted(Mock(spec=duckdb.DuckDBPyConnection))
    finally:
        signal.signal(signal.SIGINT, before)

    assert 0 == told


@pytest.mark.parametrize("error", [RuntimeError("of another kind"), duckdb.DataError("of a value")])
def test_other_errors_stay_what_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, as_keyboard_interrupt():
        raise error

    assert error is raised.value
