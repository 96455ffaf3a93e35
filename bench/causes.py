"""How well and how fast causes are told: precision and recall by category, lines and MB a second.

`python -m bench.causes`. The held-back third was written before the rules and not read since.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from bench.labelled import NONE, SETS, logs, messages
from ingest.causes import Cause, Classified, classify, classify_frame, classify_message

LINES = 400_000
MESSAGES = 20_000


@dataclass(frozen=True, slots=True)
class Judged:
    """What one labelled message or log is, and what it was told to be."""

    label: str
    told: str


def judged(which: str) -> list[Judged]:
    """Every message and log of a set, judged by the shipped rules."""
    of_messages = [
        Judged(one.category, _told(classify_message(one.text, one.exit_code, one.signal)))
        for one in messages(which)
    ]
    of_logs = [
        Judged(log.category, _told(classify(enumerate(log.lines, start=1)))) for log in logs(which)
    ]
    return of_messages + of_logs


def accuracy(results: Iterable[Judged], *, of_domains: bool = False) -> float:
    """The part that was told right, by category or by domain alone."""
    right = [
        _domain(one.label) == _domain(one.told) if of_domains else one.label == one.told
        for one in results
    ]
    return sum(right) / len(right)


def main() -> int:
    """Print the tables. Nothing is asserted: that is the tests' work."""
    results = {which: judged(which) for which in SETS}
    for which, told in results.items():
        print(
            f"{which:<12}{len(told):>6} labelled messages and logs, right by category "
            f"{accuracy(told):.4f}, by domain {accuracy(told, of_domains=True):.4f}"
        )
    print(f"\n{'precision, recall (labelled)':<42}" + "".join(f"{which:>22}" for which in SETS))
    for category in sorted({one.label for told in results.values() for one in told}):
        print(f"{category:<42}" + "".join(_cells(results[which], category) for which in SETS))
    print()
    _show_speed()
    return 0


def _told(result: Classified | Cause | None) -> str:
    return NONE if result is None else result.category


def _domain(category: str) -> str:
    return category.partition("/")[0]


def _cells(results: list[Judged], category: str) -> str:
    labelled = Counter(one.label for one in results)[category]
    told = Counter(one.told for one in results)[category]
    right = sum(one.label == one.told == category for one in results)
    precision = f"{right / told:.2f}" if told else "-"
    recall = f"{right / labelled:.2f}" if labelled else "-"
    return f"{f'{precision} {recall} ({labelled})':>22}"


def _show_speed() -> None:
    lines = list(_chatter(LINES))
    size = sum(map(len, lines)) / 1e6
    began = time.perf_counter()
    classify(enumerate(lines, start=1))
    seconds = time.perf_counter() - began
    print(f"a log of {LINES:,} lines: {LINES / seconds:,.0f} lines/s, {size / seconds:,.0f} MB/s")
    frame = pl.DataFrame(
        {"message": [f"RuntimeError: shard {number} is gone\n" + "frame\n" * 20
                     for number in range(MESSAGES)], "exit_code": 1, "signal": None}
    )  # fmt: skip
    began = time.perf_counter()
    classify_frame(frame)
    seconds = time.perf_counter() - began
    print(f"{MESSAGES:,} different messages of 21 lines: {MESSAGES / seconds:,.0f} messages/s")


def _chatter(lines: int) -> Iterator[str]:
    """A trainer's progress and its library's talk, one line in a thousand of a failure."""
    rng = random.Random(7)
    for number in range(lines):
        if number % 1000 == 999:
            yield f"[rank{number % 8}]: RuntimeError: CUDA error: an illegal memory access"
        elif number % 5:
            yield (
                f"[rank{number % 8}]:[titan] - root - INFO - step: {number}  loss: "
                f"{rng.uniform(2, 8):.5f}  grad_norm: {rng.uniform(0.2, 3):.4f}  tps: 4,410"
            )
        else:
            yield f"gpu01:881:990 [0] NCCL INFO Channel {number % 32:02d}/0 : 0[0] -> 1[1] via P2P"


if __name__ == "__main__":
    sys.exit(main())
