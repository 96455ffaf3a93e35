"""sacct tables a block at a time: whatever the lines are, they tell what they tell one by one."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.collectors.slurm import SLURM_SACCT, recognises
from ingest.collectors.slurm_states import ENDED, LIVE, WAITING
from tests.ingest.both_ways import frames, told

NAMES = (
    "JobIDRaw", "JobID", "JobName", "Comment", "User", "Account", "Partition", "QOS", "State",
    "ExitCode", "DerivedExitCode", "Submit", "Start", "End", "Elapsed", "ElapsedRaw", "Suspended",
    "AllocTRES", "AllocGRES", "ReqTRES", "NodeList", "Reason", "Cluster", "WorkDir",
)  # fmt: skip
NEEDED = ("JobID", "State", "Start", "End")
# the second hour of 1 November 2026 comes twice in New York, that of 8 March never
USUAL = {
    "JobName": ["train", "", "a b", "größe"],
    "Comment": ["", '{"why": "\\t"}', "ok"],
    "User": ["ann", ""],
    "Account": ["ads", ""],
    "Partition": ["gpu", "gpu,cpu"],
    "QOS": ["normal", ""],
    "State": ["CANCELLED by 7", "RESIZING", *sorted({*ENDED, *LIVE, *WAITING})],
    "ExitCode": ["0:0", "1:0", "0:9", ""],
    "DerivedExitCode": ["0:0", "", "0:15"],
    "Elapsed": ["01:00:00", "2-03:04:05", "00:00:00", "INVALID", "", "01:75:00"],
    "ElapsedRaw": ["3600", ""],
    "Suspended": ["00:00:00", "00:10:00", ""],
    "AllocTRES": ["cpu=8,gres/gpu=8", "", "gres/gpu:h100=4,mem=5G", "cpu=1", "gres/gpu:1g.5gb=1"],
    "AllocGRES": ["", "gpu:a100:8"],
    "ReqTRES": ["cpu=8,gres/gpu=16", ""],
    "ReqGRES": ["", "gpu:2"],
    "NodeList": ["n[1-4]", "None assigned", ""],
    "Reason": ["None", "TimeLimit", "Dependency"],
    "Cluster": ["blue", ""],
    "WorkDir": ["/home/a", ""],
}
ODD = {
    "JobName": ["a|b", "two\nlines", 'say "no"', "\x07"],
    "Comment": ["x\ny\nz", "|||", "n|1|2"],
    "State": ["RUNNIN", "CANCELLED+", "", "OUT_OF_ME+"],
    "ExitCode": ["0:125", "x", "99999999999:0"],
    "DerivedExitCode": ["0:125", "7"],
    "Elapsed": ["soon", "Unknown"],
    "ElapsedRaw": ["3", "abc", "9" * 5_000],
    "Suspended": ["-", "12"],
    "AllocTRES": ["gpu", "gres/gpu=x"],
    "Cluster": ["a b", "é"],
    "WorkDir": ["home", "/a|b"],
}
UNUSUAL_TIMES = (
    "Unknown", "", "None", "0", "1795150800", "1795150800.5", "2026-11-01T01:30:00",
    "2026-03-08T02:30:00", "2026-11-20T05:00:00Z", "2026-11-20 05:00:00", "2026-11-20T05:00:00.25",
    "1999-12-31T23:00:00", "2026-11-20", "2026-13-01T00:00:00", "2026-11-20T05:60:00", "7",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_random_tables_tell_the_same_in_blocks_and_row_by_row(seed: int) -> None:
    chance = random.Random(seed)
    lines = list(table(chance))
    zone = chance.choice(["UTC", "America/New_York"])
    at_once = chance.choice([3, 40, 10_000])

    assert told(SLURM_SACCT, lines, None, zone) == told(SLURM_SACCT, lines, at_once, zone)


def test_usual_rows_are_read_together() -> None:
    lines = [b"JobID|State|Start|End", *(b"%d|FAILED|1795150800|1795150860" % n for n in range(9))]

    assert 9 * 3 == frames(SLURM_SACCT, lines)


@pytest.mark.real
@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_real_tables_tell_the_same_in_blocks_and_row_by_row(zone: str) -> None:
    tables = [
        lines
        for path in sorted(Path(os.environ["ETT_REAL_LOGS"], "slurm").rglob("*"))
        if path.is_file() and recognises(path.name, (text := content(path))[:65536])
        for lines in [text.split(b"\n")]
    ]

    assert tables
    for lines in tables:
        assert told(SLURM_SACCT, lines, None, zone) == told(SLURM_SACCT, lines, 100, zone)


def content(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def table(chance: random.Random) -> Iterator[bytes]:
    """A table of mostly usual rows; sometimes several, with other columns."""
    oddness = chance.choice([0.0, 0.01, 0.1])
    if chance.random() < 0.1:
        yield b"squeue says:"
    for _ in range(chance.choice([1, 1, 1, 2])):
        names = sorted(
            {*NEEDED, *chance.sample(NAMES, chance.randint(0, len(NAMES)))}, key=NAMES.index
        )
        delimiter = chance.choice(["|", "|", "|", ";", "||"])
        yield delimiter.join(names).encode()
        for number in range(chance.randint(1, 60)):
            yield from rows(chance, names, delimiter, number, oddness)


def rows(
    chance: random.Random, names: list[str], delimiter: str, number: int, oddness: float
) -> Iterator[bytes]:
    yield from row(chance, names, delimiter, str(number + 100), oddness)
    for step in ("batch", "extern", "0")[: chance.choice([0, 0, 1, 3])]:
        yield from row(chance, names, delimiter, f"{number + 100}.{step}", oddness)
    if chance.random() < oddness:
        yield chance.choice([b"", b"\xff|\xfe", b"noise", b"|" * (len(names) - 1)])


def row(
    chance: random.Random, names: list[str], delimiter: str, job: str, oddness: float
) -> Iterator[bytes]:
    cells = [cell(chance, name, job, oddness) for name in names]
    line = delimiter.join(cells).encode()
    if chance.random() < oddness / 2:
        line = line[: chance.randint(0, len(line))]
    yield from line.split(b"\n")


def cell(chance: random.Random, name: str, job: str, oddness: float) -> str:
    is_odd = chance.random() < oddness
    if name in ("JobID", "JobIDRaw"):
        return chance.choice(["", "x", "7_3", "7_[1-3]"]) if is_odd else job
    if name in ("Submit", "Start", "End"):
        at = ("Submit", "Start", "End").index(name) * chance.choice([0, 1, 3])
        usual = f"2026-11-{chance.randint(1, 2):02}T{at:02}:{chance.choice([0, 59]):02}:00"
        return chance.choice(UNUSUAL_TIMES) if is_odd or chance.random() < 0.1 else usual
    return chance.choice(ODD.get(name, USUAL[name]) if is_odd else USUAL[name])
