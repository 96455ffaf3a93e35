"""Lines to files: one dump a day, in time order, spoiled and compressed. Knows no simulation.

Each day draws from its own seed and depends on nothing but its lines, so days may be written in any
order and by several processes.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import zstandard

from sample_data.lines import Lines
from sample_data.rendering import (
    Cloning,
    Columns,
    DayLines,
    columns_of,
    lines_of_day,
    rendered,
)
from sample_data.spoil import spoiled
from sample_data.teams import Clock
from sample_data.times import DAY, day_of

_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class Output:
    """Where to and in what shape; `broken_ratio` of the lines that tell of a job are spoiled."""

    folder: Path
    begins_us: int
    days: int
    seed: int
    broken_ratio: float
    compression: str
    cloning: Cloning


@dataclass(frozen=True, slots=True)
class Broken:
    """A spoiled line, with what it would have told."""

    file: str
    line: int
    reason: str
    job_id: str
    attempt: int | None
    event: str
    phase: str | None
    at_us: int


@dataclass(frozen=True, slots=True)
class Written:
    """One dump: its lines, the broken ones among them, and the time of its newest good event."""

    file: str
    lines: int
    broken: tuple[Broken, ...]
    newest_us: int


def write_days(
    lines: Lines, clocks: Sequence[Clock], output: Output, processes: int = 1
) -> list[Written]:
    """Write a dump for every day that has lines; `clocks` are the owners' ways to write time."""
    columns = columns_of(lines, clocks)
    output.folder.mkdir(parents=True, exist_ok=True)
    days = range(output.days)
    if processes == 1 or "fork" not in multiprocessing.get_all_start_methods():
        written = [_write_day(columns, output, day) for day in days]
    else:
        context = multiprocessing.get_context("fork")
        with context.Pool(processes, _share, (columns, output)) as workers:
            written = workers.map(_write_shared_day, days, chunksize=1)
    return [each for each in written if each is not None]


_shared: tuple[Columns, Output] | None = None


def _share(columns: Columns, output: Output) -> None:
    global _shared
    _shared = (columns, output)


def _write_shared_day(day: int) -> Written | None:
    assert _shared is not None
    return _write_day(*_shared, day)


def _write_day(columns: Columns, output: Output, day: int) -> Written | None:
    begins = output.begins_us + day * DAY
    lines = lines_of_day(columns, begins, output.cloning)
    if not len(lines.place):
        return None
    name = f"events-{day_of(begins).isoformat()}.jsonl{_EXTENSIONS[output.compression]}"
    rng = random.Random(f"{output.seed}/broken/{day}")
    suffixes = output.cloning.suffixes()
    broken: list[Broken] = []
    with _opened(output.folder / name, output.compression) as sink:
        for first in range(0, len(lines.place), _AT_ONCE):
            texts = rendered(columns, lines, slice(first, first + _AT_ONCE), suffixes)
            for spot in _to_break(columns, lines, first, len(texts), output.broken_ratio, rng):
                good = texts[spot].rstrip("\n").encode()
                bad, reason = spoiled(good, rng)
                texts[spot] = bad.decode("utf-8", "surrogateescape") + "\n"
                at = int(lines.at_us[first + spot])
                broken.append(_broken(name, first + spot + 1, reason, good, at))
            sink.write("".join(texts).encode("utf-8", "surrogateescape"))
    return Written(name, len(lines.place), tuple(broken), _newest(lines, broken))


def _to_break(
    columns: Columns, lines: DayLines, first: int, count: int, ratio: float, rng: random.Random
) -> list[int]:
    """Spots among `count` lines from `first` on; a change is never broken."""
    if ratio <= 0:
        return []
    is_job = columns.is_job[lines.place[first : first + count]]
    return [spot for spot in range(count) if rng.random() < ratio and is_job[spot]]


def _broken(file: str, line: int, reason: str, good: bytes, at_us: int) -> Broken:
    told = json.loads(good)
    attempt, phase = told.get("attempt"), told.get("phase")
    return Broken(file, line, reason, told["job_id"], attempt, told["event"], phase, at_us)


def _newest(lines: DayLines, broken: Sequence[Broken]) -> int:
    """The newest time that a good line tells; 0 if none is good."""
    told = np.maximum(lines.at_us, lines.until_us)
    good = np.delete(told, [each.line - 1 for each in broken])
    return int(good.max()) if len(good) else 0


_EXTENSIONS = {"none": "", "gz": ".gz", "zst": ".zst"}


@contextmanager
def _opened(path: Path, compression: str) -> Iterator[BinaryIO]:
    """A file to write; its compressed bytes carry neither name nor time."""
    with path.open("wb") as raw:
        if compression == "gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as gz:
                yield gz  # type: ignore[misc]
        elif compression == "zst":
            with zstandard.ZstdCompressor(level=3).stream_writer(raw) as zst:
                yield zst
        else:
            yield raw
