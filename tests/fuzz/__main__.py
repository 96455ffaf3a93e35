"""`make fuzz MINUTES=5`: break dumps, settings and addresses for a while; keep what crashed.

What crashed is written to .fuzz, one folder each, with the seed that makes it again. Nothing of it
is committed: a crash becomes a small test by hand.
"""

from __future__ import annotations

import argparse
import logging
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ingest.collectors.registry import COLLECTORS
from tests.fuzz import addresses, documents, rules, seeds

_ROOT = Path(__file__).parents[2]
_KEPT = _ROOT / ".fuzz"
_MOST_DUMPS, _ENOUGH_LINES = 60, 2_000  # of a collector in a round: some dumps have few lines
_ADDRESSES = 5  # in a round
_GUIDED_SECONDS = 20  # at least, for each collector

Round = Callable[[random.Random], int]  # returns how many lines it broke


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzz for the time that was asked for; returns 1 if anything crashed."""
    asked = _options(arguments)
    logging.disable(logging.ERROR)
    until = time.monotonic() + asked.minutes * 60 * (1 - asked.guided)
    rounds = _rounds()
    counted: Counter[str] = Counter()
    crashes = 0
    seed = asked.seed
    with addresses.published_fleet():
        while not counted or time.monotonic() < until:
            for name, run in rounds.items():
                rng = random.Random(f"{name} {seed}")
                try:
                    with rules.in_time():
                        counted[name] += run(rng)
                except Exception:  # whatever it is, it is what is looked for
                    crashes += 1
                    _keep(name, seed, traceback.format_exc())
                if time.monotonic() >= until:
                    break
            seed += 1
    for name, lines in counted.items():
        print(f"{name:14} {lines:10,} broken {'addresses' if name == 'pages' else 'lines'}")
    print(f"{'together':14} {counted.total():10,} broken lines, {crashes} crashes, next: {seed}")
    if asked.guided:
        crashes += _guided(asked.minutes * 60 * asked.guided)
    return 1 if crashes else 0


def _rounds() -> dict[str, Round]:
    texts = seeds.written()
    for name, more in seeds.real().items():
        texts[name] = texts.get(name, []) + more
    readers = {one.name: _of_collector(one.name, texts[one.name]) for one in COLLECTORS}
    return {
        **readers,
        "sacct rows": _sacct_rows(texts["slurm-sacct"]),
        "quarantine": _quarantine,
        "whole way": _whole_way(texts),
        "settings": documents.settings_round,
        "pages": _pages,
    }


def _of_collector(name: str, dumps: Sequence[seeds.Lines]) -> Round:
    (collector,) = (one for one in COLLECTORS if one.name == name)

    def run(rng: random.Random) -> int:
        hits = 0
        for _ in range(_MOST_DUMPS):
            lines, hit = rules.broken(rng.choice(dumps), rng)
            rules.reads(collector, lines)
            hits += hit
            if hits >= _ENOUGH_LINES:
                break
        return hits

    return run


def _sacct_rows(dumps: Sequence[seeds.Lines]) -> Round:
    fitting = [lines for lines in dumps if b"|JobIDRaw|" in lines[0] and b"Start" in lines[0]]

    def run(rng: random.Random) -> int:
        return rules.sacct_keeps_every_row(rng.choice(fitting), rng, rng.choice((0.01, 0.1, 0.5)))

    return run


def _quarantine(rng: random.Random) -> int:
    lines, hit = rules.mutated(seeds.native(rng.randrange(1_000)), rng, rng.choice((0.3, 1.0)))
    with tempfile.TemporaryDirectory() as folder:
        rules.quarantine_loses_no_line(Path(folder), lines)
    return len(hit)


def _whole_way(texts: dict[str, list[seeds.Lines]]) -> Round:
    def run(rng: random.Random) -> int:
        hits = 0
        with tempfile.TemporaryDirectory() as folder:
            dumps = Path(folder, "dumps")
            dumps.mkdir()
            for number, (name, choices) in enumerate(texts.items()):
                lines, hit = rules.broken(rng.choice(choices), rng)
                (dumps / f"{number}-{name}").write_bytes(b"\n".join(lines))
                hits += hit
            assert rules.ingests(Path(folder, "warehouse"), dumps) in (0, 2)
            rules.assert_identity(Path(folder, "warehouse"))
        return hits

    return run


def _pages(rng: random.Random) -> int:
    for _ in range(_ADDRESSES):
        addresses.open_some_page(rng)
    return _ADDRESSES


def _guided(seconds: float) -> int:
    """Coverage-guided, a process for each collector: atheris ends with its process."""
    each = max(_GUIDED_SECONDS, round(seconds / len(COLLECTORS)))
    _KEPT.mkdir(exist_ok=True)
    crashes = 0
    for collector in COLLECTORS:
        words = ["tests.fuzz.guided", collector.name, str(each), str(_KEPT)]
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        said = (done.stdout + done.stderr).strip().splitlines()
        if done.returncode == 3:
            print(said[-1])
            return crashes
        runs = next((line for line in reversed(said) if "Done " in line), "ended early")
        print(f"guided {collector.name:14} {runs}")
        if done.returncode:
            crashes += 1
            _keep(f"guided-{collector.name}", 0, "\n".join(said[-60:]))
    return crashes


def _keep(name: str, seed: int, said: str) -> None:
    folder = _KEPT / f"{name.replace(' ', '-')}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "crash.txt").write_text(said, encoding="utf-8", errors="replace")
    print(f"CRASH in {name}, seed {seed}: {said.strip().splitlines()[-1][:200]} ({folder})")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1, help="the first of the seeds that are used")
    parser.add_argument(
        "--guided",
        type=float,
        default=0.4,
        metavar="SHARE",
        help="share of the time that is guided by coverage (0: none)",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
