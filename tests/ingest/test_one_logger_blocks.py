"""Logs of one-logger a block at a time: any lines tell what they tell one by one."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.collectors.one_logger import ONE_LOGGER
from tests.ingest.both_ways import frames, told
from tests.ingest.test_one_logger_collector import Writer

BLOCK = 200


@pytest.mark.parametrize("seed", range(40))
def test_random_logs_tell_the_same_in_blocks_and_line_by_line(seed: int) -> None:
    chance = random.Random(seed)
    lines = [line.encode() for line in interleaved(chance)]
    at_once = chance.choice([1, BLOCK, 10_000])

    assert told(ONE_LOGGER, lines, None) == told(ONE_LOGGER, lines, at_once)


def test_what_each_iteration_says_is_read_together() -> None:
    writer = Writer()
    lines = [*writer.begin(), writer.start("training_loop", 1)]
    for step in range(300):
        lines.append(writer.complete("data_loading", step + 2, step + 2.5))
        lines.append(writer.progress(step, step + 3, num_train_samples=8 * step))

    assert 600 == frames(ONE_LOGGER, [line.encode() for line in lines])


@pytest.mark.real
def test_real_logs_tell_the_same_in_blocks_and_line_by_line() -> None:
    logs = sorted(Path(os.environ["ETT_REAL_LOGS"], "one_logger").glob("*.jsonl"))

    assert logs
    for lines in (path.read_bytes().splitlines() for path in logs):
        assert told(ONE_LOGGER, lines, None) == told(ONE_LOGGER, lines, 1_000)


def interleaved(chance: random.Random) -> Iterator[str]:
    """Processes that write into one file, some of them under one pid."""
    logs = [
        list(log(chance, Writer(chance.choice([1, 2]), rank, f"launch{rank}")))
        for rank in range(chance.randint(1, 4))
    ]
    while logs := [log for log in logs if log]:
        some = chance.choice(logs)
        yield from some[: (many := chance.randint(1, 60))]
        del some[:many]


def log(chance: random.Random, writer: Writer) -> Iterator[str]:
    """One process, launched again or not; mostly iterations."""
    oddness = chance.choice([0.0, 0.01, 0.1])
    at = 0.0
    for launch in range(chance.randint(1, 2)):
        writer.launch += str(launch)
        yield from writer.begin(at, custom_metadata=["team:ads", "slurm_restart_count:1"])
        yield writer.start("training_loop", at, train_iterations_start=0)
        for step in range(chance.choice([3, 150])):
            at += 1
            yield writer.complete("data_loading", at, at + 0.5)
            samples = {"num_train_samples": 8 * step} if chance.random() < 0.9 else {}
            yield writer.progress(step, at + 0.75, train_samples_start=64, **samples)
            if chance.random() < oddness:
                yield from odd(chance, writer, step, at)
        if chance.random() < 0.5:
            yield writer.stop("training_loop", at)
            yield writer.stop("application", at)


def odd(chance: random.Random, writer: Writer, step: int, at: float) -> Iterator[str]:
    config = ("application", "update_training_telemetry_config", at)
    yield chance.choice(
        [
            writer.start("checkpoint_save_sync", at, current_iteration=step),
            writer.stop("checkpoint_save_sync", at, current_iteration=step),
            writer.error("training_loop", at, exception_type="ValueError"),
            writer.event(*config, custom_metadata=["slurm_job_id:7"], world_size=8),
            writer.complete("model_forward", at, at + 1),
            writer.complete("data_loading", -2_000_000_000, at),
            writer.progress(step, -2_000_000_000),
            writer.event("training_loop", "training_metrics_update", at, current_iteration="x"),
            writer.progress(step, at, note={"name": "model_forward"}, huge=10**30),
            writer.progress(step, at).replace('"pid"', '"pad"'),
            writer.progress(step, at).replace(f'"pid":{writer.pid}', '"pid":999'),
            writer.progress(step, at).replace('"count":', '"count":9'),
            writer.progress(step, at)[:40] + writer.complete("data_loading", at, at + 1),
            "a line of something else",
            "",
        ]
    )
