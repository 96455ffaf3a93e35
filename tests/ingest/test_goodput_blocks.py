"""Logs of goodput a block at a time: any lines tell what they tell one by one."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.collectors.goodput import GOODPUT
from tests.ingest.both_ways import frames, told

BEGUN = 1_772_323_200


@pytest.mark.parametrize("seed", range(40))
def test_random_logs_tell_the_same_in_blocks_and_line_by_line(seed: int) -> None:
    chance = random.Random(seed)
    lines = list(log(chance))
    at_once = chance.choice([200, 10_000])

    assert told(GOODPUT, lines, None) == told(GOODPUT, lines, at_once)


def test_usual_steps_are_read_together() -> None:
    lines = [entry(job_start_time=BEGUN)]
    lines += [entry(step_count=n, step_start_time=BEGUN + 60 + n * 6.25) for n in range(300)]

    assert 180 < frames(GOODPUT, lines)


@pytest.mark.real
def test_real_logs_tell_the_same_in_blocks_and_line_by_line() -> None:
    logs = sorted(Path(os.environ["ETT_REAL_LOGS"], "goodput").glob("*.jsonl"))

    assert logs
    for lines in (path.read_bytes().splitlines() for path in logs):
        assert told(GOODPUT, lines, None) == told(GOODPUT, lines, 1_000)


def log(chance: random.Random) -> Iterator[bytes]:
    """A job or two, launched again and again; mostly steps."""
    separators = chance.choice([(", ", ": "), (",", ":")])
    oddness = chance.choice([0.0, 0.002, 0.02])
    at = float(BEGUN)
    for _ in range(chance.randint(1, 3)):
        job = chance.choice(["pretrain", "gr\u00f6\u00dfe", "x" * 300])
        yield entry(separators, job, job_start_time=at)
        yield entry(separators, job, tpu_init_start_time=at + 1)
        first = chance.choice([0, 0, 50])
        for step in range(first, first + chance.choice([0, 20, 400])):
            at += chance.choice([6.25, 6.25, 6.5, 7]) * (20 if chance.random() < oddness else 1)
            if chance.random() >= 2 * oddness:
                yield entry(separators, job, step_count=step, step_start_time=round(at, 3))
            if chance.random() < 0.3:
                yield entry(separators, job, data_loading_start_time=at)
            if chance.random() < oddness:
                yield from odd(chance, separators, job, step, at)
        if chance.random() < 0.5:
            yield entry(separators, job, job_end_time=at + 3)


def odd(
    chance: random.Random, separators: tuple[str, str], job: str, step: int, at: float
) -> Iterator[bytes]:
    save = {"event_type": "save", "step": step, "checkpoint_manager_blocking_start_time": at + 1}
    kind = {"custom_badput_event_type": "eval"}
    yield chance.choice(
        [
            entry(separators, job, **save, checkpoint_manager_blocking_duration_secs=2.5),
            entry(separators, job, **kind, custom_badput_event_start_time=at + 1),
            entry(separators, job, **kind, custom_badput_event_end_time=at + 2),
            entry(separators, "other", step_count=1, step_start_time=at),
            entry(separators, job, step_count=step // 2, step_start_time=at + 0.5),
            entry(separators, job, step_count=step + 1, step_start_time=at - 20),
            entry(separators, job, step_count=step, step_start_time=7),
            entry(separators, job, step_count=1.5, step_start_time=at),
            entry(separators, job, job_end_time=at),
            b'{"job_name": "a", "step_count": 01, "step_start_time": 1772323300}',
            b'{"job_name": "pretrain", "step_count": 5, "step_start_time": 17723',
            b"a line of something else",
            b"\xff",
        ]
    )


def entry(
    separators: tuple[str, str] = (", ", ": "), job: str = "pretrain", **said: object
) -> bytes:
    return json.dumps({"job_name": job, **said}, separators=separators, ensure_ascii=False).encode()
