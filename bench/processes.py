"""Runs commands as users do, one at a time, and says what each cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a process cost: wall and processor seconds, largest memory in bytes."""

    wall: float
    cpu: float
    memory: int


def run(arguments: Sequence[str]) -> Cost:
    """Run a command to its end. Raises CalledProcessError with what it said where it fails."""
    began = time.monotonic()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        said = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, arguments, said)
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def python(*arguments: object) -> Cost:
    """Run a Python command with this interpreter."""
    return run([sys.executable, *map(str, arguments)])


def in_turn(runs: int, *commands: Callable[[], Cost]) -> list[list[Cost]]:
    """Run commands A B C A B C ..., so that a machine that drifts drifts for all of them."""
    rounds = [[command() for command in commands] for _ in range(runs)]
    return [list(costs) for costs in zip(*rounds, strict=True)]


def middle(costs: Sequence[Cost]) -> Cost:
    """The medians of several runs; of memory the largest."""
    return Cost(
        median(cost.wall for cost in costs),
        median(cost.cpu for cost in costs),
        max(cost.memory for cost in costs),
    )
