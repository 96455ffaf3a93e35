"""Kills and full disks at random points: nothing may be lost, halved, doubled or unreadable.

`make faults` runs it long, on every processor; a short run is part of the tests. Ends with 1 and
keeps the warehouse at the first thing that is not as it must be.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import zstandard

from tests.faults.processes import (
    Action,
    command,
    digest,
    eager_ingest,
    read_until_told,
    run,
    start,
)
from tests.ingest.warehouses import fleet, life
from tests.queries.engine import write_dump

OLD = Path(__file__).parents[1] / "ingest" / "old_warehouses"
PRUNED_BEFORE = "2026-03-02"
REACHES = "2026-03-20T00:00:00Z"
KILLS_A_ROUND = 8


@dataclass(slots=True)
class Harness:
    """A folder, chance, and what happened."""

    folder: Path
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    reaches: dict[object, float] = field(default_factory=dict)  # see `_draw`

    @property
    def log(self) -> Path:
        return self.folder / "log"


@dataclass(frozen=True, slots=True)
class Story:
    """What is disturbed: how its warehouse begins, what is done, what a user may do after that was
    ended, and how long it takes alone.
    """

    name: str
    begin: Callable[[Path], object]
    act: Callable[[Path], Action]
    finish: Callable[[Path], Action]
    seconds: float
    expected: str


@dataclass(frozen=True, slots=True)
class First:
    """A warehouse to which there is something to add on a full disk, and what comes of it."""

    story: Story
    warehouse: Path
    before: str
    after: str
    megabytes: float


def main() -> int:
    asked = _parser().parse_args()
    harness = Harness(Path(mkdtemp(prefix="ett-faults-")), random.Random(asked.seed))
    print(f"in {harness.folder}, seed {asked.seed}", file=sys.stderr)
    try:
        stories = list(_stories(harness, small=asked.small))
        _share(harness, stories, asked)
    except AssertionError as error:
        print(f"{error}\nkept: {harness.folder}", file=sys.stderr)
        return 1
    shutil.rmtree(harness.folder)
    print(json.dumps(harness.counts))
    return 0


def _share(harness: Harness, stories: list[Story], asked: argparse.Namespace) -> None:
    """Let as many workers as there are processors do it, each in a folder of its own."""
    workers = 1 if asked.small else os.cpu_count() or 1
    first = _first(harness, stories[0]) if asked.full else None
    parts = []
    for number in range(workers):
        part = Harness(harness.folder / f"worker-{number}", random.Random(harness.chance.random()))
        part.folder.mkdir()
        kills = len(range(number, asked.kills, workers))
        full = len(range(number, asked.full, workers))
        # what a worker begins with is what another one ends with
        turn = number % len(stories)
        mine = stories[turn:] + stories[:turn]
        work = partial(_work, part, mine, kills, first, full)
        parts.append((part, start(work, part.folder / "said")))
    print(f"progress: {harness.folder}/worker-*/said", file=sys.stderr)
    ended = [(part, os.waitpid(child, 0)[1]) for part, child in parts]
    for part, status in ended:
        said = (part.folder / "said").read_text(encoding="utf-8")
        assert status == 0, said
        harness.counts += Counter(json.loads(said.splitlines()[-1]))


def _work(
    harness: Harness, stories: list[Story], kills: int, first: First | None, full: int
) -> int:
    _kill(harness, stories, kills)
    if first is not None:
        _fill(harness, first, full)
    print(json.dumps(harness.counts))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="SIGKILLs (%(default)s)")
    parser.add_argument("--full", type=int, default=100, help="runs on a full disk (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--small", action="store_true", help="ingest only, of a smaller fleet")
    return parser


def _stories(harness: Harness, *, small: bool) -> Iterator[Story]:
    events = fleet(51, size=1 if small else 6)
    many = 2 if small else 3
    dumps = [
        write_dump(harness.folder / f"{number}.jsonl", events[number::many])
        for number in range(many)
    ]
    yield _story(harness, "ingest", lambda _: None, lambda place: eager_ingest(place, *dumps))
    if small:
        return
    full = harness.folder / "whole-ingest"
    late = write_dump(harness.folder / "late.jsonl", [*life("late"), *life("later", 900)])
    _finish(harness, eager_ingest(full, late, "--as-of", REACHES), "its clock cannot be moved")
    backup = harness.folder / "backup"
    _finish(harness, command("backup", full, backup), "no backup")

    copied = partial(shutil.copytree, full)
    prune = ("--before", PRUNED_BEFORE)
    yield _story(harness, "prune", copied, lambda place: command("prune", place, *prune))
    pruned = harness.folder / "whole-prune"
    yield _story(
        harness,
        "rebuild",
        partial(shutil.copytree, pruned),
        lambda place: command("rebuild", place),
        # whoever begins it need not be who goes on
        lambda place: eager_ingest(place, late),
    )
    yield _story(harness, "restore", copied, lambda place: command("restore", place, backup))
    told = OLD / "events.jsonl.gz"
    yield _story(harness, "upgrade", _old_warehouse, lambda place: eager_ingest(place, told))


def _old_warehouse(place: Path) -> None:
    place.mkdir()
    packed = (OLD / "schema-1.duckdb.zst").read_bytes()
    (place / "warehouse.duckdb").write_bytes(zstandard.ZstdDecompressor().decompress(packed))


def _story(
    harness: Harness,
    name: str,
    begin: Callable[[Path], object],
    act: Callable[[Path], Action],
    finish: Callable[[Path], Action] | None = None,
) -> Story:
    """The undisturbed run, which every disturbed one must equal."""
    place = harness.folder / f"whole-{name}"
    begin(place)
    ended = _finish(harness, act(place), f"{name} does not work undisturbed")
    _finish(harness, command("check", place), f"{name}, undisturbed, is not sound")
    return Story(name, begin, act, finish or act, ended, digest(place, harness.log))


def _finish(harness: Harness, action: Action, otherwise: str) -> float:
    ended = run(action, harness.log)
    assert ended.status == 0, f"{otherwise} (status {ended.status}): {ended.said}"
    assert "Traceback" not in ended.said, ended.said
    return ended.seconds


def _kill(harness: Harness, stories: list[Story], kills: int) -> None:
    rounds = 0
    while harness.counts["kills"] < kills:
        story = stories[rounds % len(stories)]
        rounds += 1
        place = harness.folder / f"killed-{rounds}"
        story.begin(place)
        before = harness.counts["kills"]
        with _reader(harness, place):
            _kill_one(harness, story, place, min(KILLS_A_ROUND, kills - before))
            _finish(harness, story.finish(place), f"{story.name} cannot be finished")
        if harness.counts["kills"] > before:
            _must_be_whole(harness, story, place)
        shutil.rmtree(place)
        _progress(harness)


def _kill_one(harness: Harness, story: Story, place: Path, most: int) -> None:
    for number in range(most):
        which = (story.name, number)
        after = _draw(harness, which, story.seconds)
        ended = run(story.act(place), harness.log, kill_after=after)
        assert "Traceback" not in ended.said, ended.said
        if ended.status != -signal.SIGKILL:
            assert ended.status == 0, f"{story.name} after a kill: {ended.said}"
            harness.reaches[which] = ended.seconds
            return
        harness.counts["kills"] += 1
        harness.counts[f"kills of {story.name}"] += 1


def _draw(harness: Harness, which: object, at_first: float) -> float:
    """How far to let something go. As far as it may take, and a little more each time: the machine
    may be slower by now. Who calls says how far that was where it was too far.
    """
    reach = harness.reaches.get(which, at_first)
    harness.reaches[which] = reach * 1.05
    return harness.chance.uniform(0, reach)


def _must_be_whole(harness: Harness, story: Story, place: Path) -> None:
    _finish(harness, command("check", place), f"{story.name}: a finding after a fault")
    found = digest(place, harness.log)
    assert found == story.expected, f"{story.name}: {place} has other numbers than undisturbed"
    harness.counts["warehouses compared"] += 1


@contextmanager
def _reader(harness: Harness, place: Path) -> Iterator[None]:
    """A reader without pause beside all that happens; no read of it may fail."""
    told = harness.folder / "reads"
    child = start(read_until_told(place, told), harness.folder / "reader-log")
    try:
        yield
    finally:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    reads, *faults = told.read_text(encoding="utf-8").splitlines()
    harness.counts["reads"] += int(reads)
    assert not faults, f"{len(faults)} reads failed, the first: {faults[0]}"


def _first(harness: Harness, story: Story) -> First | None:
    if os.geteuid() != 0:
        print("no full disks: only root can mount one", file=sys.stderr)
        return None
    place, whole = harness.folder / "first", harness.folder / "first-and-all"
    dump = write_dump(harness.folder / "first.jsonl", life("first"))
    _finish(harness, eager_ingest(place, dump), "the first dump")
    shutil.copytree(place, whole)
    _finish(harness, story.act(whole), "the others")
    before, after = digest(place, harness.log), digest(whole, harness.log)
    assert before != after, "nothing was loaded"
    return First(story, place, before, after, _megabytes(whole))


def _fill(harness: Harness, first: First, times: int) -> None:
    """A disk of random size; something is published before it is that small."""
    while harness.counts["full disks"] < times:
        disk = harness.folder / "disk"
        place = disk / "warehouse"
        with _disk(disk):
            shutil.copytree(first.warehouse, place)
            room = _draw(harness, "disk", 2 * first.megabytes)
            subprocess.run(
                ["mount", "-o", f"remount,size={int((_megabytes(disk) + room) * 1024)}k", disk],
                check=True,
            )
            with _reader(harness, place):
                ended = run(first.story.act(place), harness.log)
            assert ended.status in (0, 2), f"on a full disk: {ended.said}"
            assert "Traceback" not in ended.said, ended.said
            if ended.status == 0:
                harness.reaches["disk"] = room
            else:
                harness.counts["full disks"] += 1
                assert "still stands" in ended.said or "could not" in ended.said, ended.said
                digest(place, harness.log)
            subprocess.run(["mount", "-o", "remount,size=1g", disk], check=True)
            _finish(harness, first.story.act(place), "with space again")
            _finish(harness, command("check", place), "a finding after a full disk")
            found = digest(place, harness.log)
            assert first.after == found, f"{place} has other numbers than on an empty disk"
        _progress(harness)


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


def _progress(harness: Harness) -> None:
    print(json.dumps(harness.counts), file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
