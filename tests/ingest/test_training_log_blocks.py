"""Logs of trainers a block at a time: any lines tell what they tell one by one."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ingest.collectors import training_log_signs, training_log_steps
from ingest.collectors.training_log import TRAINING_LOG
from tests.ingest.both_ways import frames, told

BEGUN = datetime(2026, 3, 1, 22, 50)


@pytest.mark.parametrize("seed", range(40))
def test_random_logs_tell_the_same_in_blocks_and_line_by_line(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(training_log_signs, "_LINES_AT_ONCE", chance.choice([30, 100, 4_096]))
    monkeypatch.setattr(training_log_steps, "_FEWEST", chance.choice([1, 2, 16]))
    lines = list(log(chance))
    at_once = chance.choice([7, 200, 10_000])

    assert told(TRAINING_LOG, lines, None) == told(TRAINING_LOG, lines, at_once)


def test_batches_hold_no_more_bytes_however_the_lines_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_log_signs, "_BYTES_AT_ONCE", 500)
    lines = [torchtitan(BEGUN, step, "") for step in range(1, 200)]

    assert told(TRAINING_LOG, lines, None) == told(TRAINING_LOG, lines, 50)


def test_steps_of_one_shape_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_log_signs, "_LINES_AT_ONCE", 100)
    lines = [torchtitan(BEGUN + timedelta(seconds=4 * n), n, "") for n in range(1, 600)]

    assert 300 < frames(TRAINING_LOG, lines)


@pytest.mark.real
def test_real_logs_tell_the_same_in_blocks_and_line_by_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_log_signs, "_LINES_AT_ONCE", 20)
    monkeypatch.setattr(training_log_steps, "_FEWEST", 1)
    logs = [
        path.read_bytes().split(b"\n")
        for path in sorted(Path(os.environ["ETT_REAL_LOGS"], "torch").rglob("*.log"))
        if TRAINING_LOG.recognises(path.name, path.read_bytes()[:65_536])
    ]

    for lines in logs:
        assert told(TRAINING_LOG, lines, None) == told(TRAINING_LOG, lines, 50)


def log(chance: random.Random) -> Iterator[bytes]:
    """A launch or several, mostly of steps; others than the first may fall back."""
    written = chance.choice([torchtitan, megatron])
    oddness = chance.choice([0.0, 0.01, 0.1])
    labels = chance.choice([[""], [""], ["[rank0]:", "[rank1]:"]])
    at, step = BEGUN, 0
    for _ in range(chance.choice([1, 1, 3])):
        step = chance.choice([0, max(0, step - 40), step])
        for _ in range(chance.choice([5, 300])):
            step += chance.choice([1, 1, 1, 1, 10]) if chance.random() > oddness else -1
            at += timedelta(seconds=chance.choice([0, 1, 1, 7]))
            for label in labels:
                yield written(at, step, label)
            if chance.random() < oddness:
                yield odd(chance, at, step)


def torchtitan(at: datetime, step: int, label: str) -> bytes:
    said = f"step: {step:>2}  loss:  4.{step % 7:04}  tps: {990 + step % 20:,}  mfu: 31.37%"
    return f"{label}{at:%Y-%m-%d %H:%M:%S},{step % 1000:03} - root - INFO - {said}".encode()


def megatron(at: datetime, step: int, label: str) -> bytes:
    return (
        f"{label} [{at:%Y-%m-%d %H:%M:%S}] iteration {step:>8}/ 9000000 | "
        f"consumed samples: {step * 512:>12} | elapsed time per iteration (ms): 998.1 | "
        "learning rate: 2.9E-04 | lm loss: 2.411E+00 |"
    ).encode()


def odd(chance: random.Random, at: datetime, step: int) -> bytes:
    begun = f"{at:%Y-%m-%d %H:%M:%S},123 - root - INFO - "
    return chance.choice(
        [
            b"Traceback (most recent call last):",
            b'  File "train.py", line 3, in <module>',
            b"ValueError: no such thing",
            f"{begun}Saving the checkpoint at step {step}".encode(),
            f"saving checkpoint at iteration {step:>7} to /ckpt in torch_dist format".encode(),
            f"  successfully saved checkpoint from iteration {step:>7} to /ckpt".encode(),
            b" loading checkpoint from /ckpt at iteration 40",
            b"Evaluating on 100 samples",
            f"{begun}Training completed".encode(),
            torchtitan(at - timedelta(hours=3), step, ""),
            torchtitan(at, step, "")[:-30],
            torchtitan(at, step + 3, "") + b"\r" + torchtitan(at, step + 4, ""),
            b"step: 12  loss: 1.0",
            b"using world size: 64, data-parallel size: 8",
            b"\xff\xfe",
            b"",
        ]
    )
