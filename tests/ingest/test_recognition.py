"""What a dump is, is found at once whatever stands at its beginning."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from ingest.formats import recognise

BYTES = 16 * 1024
ORDINARY = b"2026-03-01 10:00:00 INFO worker 3: nothing that any trainer says of its steps\n"
STRANGE = (
    *(b"\n", b"\r\n", b" \n", b"\t\n", b"\x0b\n", b" ", b"\t", b"\r", b"\x00", b"\xff", b"\x1b[0m"),
    *(b"a", b"a ", b"a\n", b"0", b"0 ", b"0: ", b"0: \n", b"-", b"- ", b"=", b"|", b"||", b"a | "),
    *(b"[", b"[\n", b"{", b"{\n", b'"', b'\\"', b'{"a":', b"(", b",", b":", b"::", b":::MLLOG "),
    *(b"+", b"+ ", b"2026-01-01 ", b"2026-01-01 00:00:00 ", b"[2026-01-01 00:00:00]", b"00:00:00"),
    *(b"[rank0]: ", b"iteration 1/", b"step 1 ", b"loss: 1 ", b"a=1 ", b"100%|", b"JobID|", b"1."),
)


@pytest.mark.parametrize("strange", STRANGE)
def test_a_strange_beginning_costs_about_what_an_ordinary_one_does(strange: bytes) -> None:
    """A pattern that begins anew at each blank line took two minutes for 64 KiB of them."""
    ordinary = spent(lambda: recognise("x.log", repeated(ORDINARY)))

    assert 100 * ordinary > spent(lambda: recognise("x.log", repeated(strange)))


def repeated(unit: bytes) -> bytes:
    return (unit * BYTES)[:BYTES]


def spent(work: Callable[[], object]) -> float:
    """Processor seconds, the least of two."""

    def once() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return min(once(), once())
