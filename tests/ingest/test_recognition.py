"""What a dump is, is found at once whatever stands at its beginning."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ingest import dumps
from ingest.formats import format_of, recognise

BYTES = 16 * 1024
ORDINARY = b"2026-03-01 10:00:00 INFO worker 3: nothing that any trainer says of its steps\n"
STATE = np.random.default_rng(7).normal(size=50_000).astype("float32").tobytes()
ELSEWHERE = (
    b"JobId=7 JobName=train\n   UserId=ann(5001)\n",
    b'{"log": "a line\\n", "time": "2026-03-01T10:00:00Z"}\n',
)
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


TRAINS = b"[2026-03-01 10:00:00,123] INFO train: step 3/10 | loss 2.5\n"
AGENT = (
    b"I0301 10:00:00.000000 7 torch/distributed/launcher/api.py:195] "
    b"Starting elastic_operator with launch configs:\n"
)
MLLOG = (
    b':::MLLOG {"namespace": "", "time_ms": 1780000000000, "event_type": "INTERVAL_START", '
    b'"key": "init_start", "value": null, "metadata": {}}\n'
)


def looked_into(folder: Path, *parts: bytes) -> str | None:
    path = folder / "x.log"
    path.write_bytes(b"".join(parts))
    file = dumps.found_at(path, folder / "warehouse", 1000)
    assert file is not None
    found = format_of(file, dumps.head(file))
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (TRAINS, "training-log"),
        (AGENT, "torchelastic"),
        (MLLOG, "mlperf"),
        (MLLOG + AGENT, "mlperf"),
    ],
)
def test_what_many_ranks_say_before_they_train_hides_no_log(
    tmp_path: Path, told: bytes, name: str
) -> None:
    ranks = ORDINARY * (3 * 1024 * 1024 // len(ORDINARY))

    assert name == looked_into(tmp_path, ranks, told)


@pytest.mark.parametrize("before", [STATE, *ELSEWHERE])
def test_what_is_no_log_is_looked_into_no_further(tmp_path: Path, before: bytes) -> None:
    """A checkpoint may hold the words of its trainer."""
    assert looked_into(tmp_path, before * (70_000 // len(before) + 1), b"\n", TRAINS) is None


def repeated(unit: bytes) -> bytes:
    return (unit * BYTES)[:BYTES]


def spent(work: Callable[[], object]) -> float:
    """Processor seconds, the least of two."""

    def once() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return min(once(), once())
