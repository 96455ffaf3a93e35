"""What must hold for whatever is read: no exception but those that users are told, no line lost."""

from __future__ import annotations

import contextlib
import io
import json
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from app.monitoring.web_config import UnusableWebConfig, read_web_config
from app.readers import UnusableAuth, provider, read_readers
from deploy.thresholds import UnusableSettings, read_thresholds
from ingest import cli
from ingest.collectors.base import Collector
from ingest.collectors.slurm import SLURM_SACCT
from ingest.errors import UnusableArguments
from ingest.events import Event, Rejected
from ingest.explain import shown
from ingest.settings import read_settings
from tests.fuzz.accidents import mutated, shuffled
from tests.fuzz.seeds import Lines
from tests.ingest.mutated_dumps import loadable, read
from tests.queries.engine import rows

_BLANK = b" \t\n\v\f\r"
_SECONDS = 60  # for what takes less than one: a pattern that backtracks for ever is a fault


class Slow(AssertionError):
    """Something did not come to an end."""


@contextlib.contextmanager
def in_time(seconds: int = _SECONDS) -> Iterator[None]:
    """Raise Slow in the main thread where the block does not end in time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Slow(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def reads(collector: Collector, lines: Sequence[bytes]) -> list[Event | Rejected]:
    """What a collector tells of lines, after holding it to the rules of every collector."""
    collector.recognises("x", b"\n".join(lines)[:65_536])
    told = read(collector, lines)
    loadable(told)
    for item in told:
        if isinstance(item, Rejected):
            assert 1 <= item.line_number <= len(lines), item
    return told


def sacct_keeps_every_row(lines: Lines, rng: random.Random, share: float) -> int:
    """Break lines of a sacct table: each row that nothing happened to is told or set aside.

    Returns how many lines were broken. The header stays: without it there is no table.
    """
    head, *body = lines
    broken, hit = mutated(body, rng, share)
    whole = set(range(len(body))) - set(hit)
    told = reads(SLURM_SACCT, [head, *broken])
    jobs = {item["job_id"].rpartition(":")[2] for item in told if not isinstance(item, Rejected)}
    aside = {item.line_number for item in told if isinstance(item, Rejected)}
    column = head.split(b"|").index(b"JobIDRaw")
    for at in whole:
        cells = body[at].split(b"|")
        if len(cells) > column and cells[column].isdigit():
            assert cells[column].decode() in jobs or at + 2 in aside, body[at]
    return len(hit)


def quarantine_loses_no_line(folder: Path, lines: Lines) -> None:
    """Ingest native lines: each is an event, or is set aside under its number, as it was."""
    dump = folder / "dump.jsonl"
    dump.write_bytes(b"\n".join(lines))
    assert ingests(folder / "warehouse", dump) in (0, 2)
    if not (folder / "warehouse" / "CURRENT").exists():
        return
    told = rows(folder / "warehouse", "select events, rejected from ingested_files")
    aside = rows(folder / "warehouse", "select line_number, line from rejected_lines order by 1, 2")
    filled = [number for number, line in enumerate(lines, 1) if line.strip(_BLANK)]
    numbers = [number for number, _ in aside]

    assert len(numbers) == len(set(numbers))
    assert set(numbers) <= set(filled)
    assert all(_same(text, lines[number - 1]) for number, text in aside)
    if told:
        [(events, rejected)] = told
        good = [lines[number - 1] for number in filled if number not in set(numbers)]

        assert rejected == len(numbers)
        # broken, two lines may come to say the same: that is one event
        assert len({_meant(line) for line in good} - {None}) <= events <= len(good)
    assert_identity(folder / "warehouse")


def _meant(line: bytes) -> str | None:
    """Equal where lines say the same; None where only the engine, which is not so strict, reads it:
    a comma after the last value, a number of thousands of digits.
    """
    try:
        return json.dumps(json.loads(line), sort_keys=True)
    except ValueError:
        return None


def assert_identity(warehouse: Path) -> None:
    """The areas sum to wall, exactly, whatever was read."""
    assert [] == rows(warehouse, "select day, gap_us from identity_by_day where gap_us <> 0")


def ingests(warehouse: Path, *paths: Path) -> int:
    """Run `ett-ingest` here; returns its status and keeps what it says to itself.

    That a reader failed at a file is no crash there, and is one here.
    """
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        status = cli.main(["--warehouse", str(warehouse), "--verbose", *map(str, paths)])
    assert "please report it" not in said.getvalue(), said.getvalue()
    return status


def settings_are_told_or_used(folder: Path, text: bytes) -> None:
    """Whatever stands in a file of settings: settings, or a sentence that names the file."""
    path = folder / "settings"
    path.write_bytes(text)
    for read_them in (read_settings, read_thresholds, read_readers, provider, read_web_config):
        try:
            read_them(path)
        except (UnusableArguments, UnusableSettings, UnusableAuth, UnusableWebConfig) as refusal:
            assert str(path) in str(refusal)


def broken(lines: Lines, rng: random.Random) -> tuple[Lines, int]:
    """A dump after accidents of all kinds, and how many lines they hit."""
    share = rng.choice((0.02, 0.1, 0.5, 1.0))
    told, hit = mutated(lines, rng, share)
    return shuffled(told, rng), len(hit)


def _same(text: str, line: bytes) -> bool:
    return text.rstrip("\r") == shown(line).rstrip("\r")
