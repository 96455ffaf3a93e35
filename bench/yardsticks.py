"""How fast is ingest, beside what others need for the same file? `python -m bench.yardsticks`.

Each is a process of its own, from the file on disk to a file that can be asked: ours with all areas
and a publication; DuckDB's bare reading; Polars into DuckDB, and ClickHouse (chdb), each with typed
columns and one plain roll-up by team and day. Then a batch onto the whole, the same lines in many
dumps, compressed dumps, many small ones, and broken ones.
"""

from __future__ import annotations

import argparse
import gzip
import json
import mmap
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from bench.processes import Cost, in_turn, middle, python, run
from ingest import fields

END = "2026-03-01"
BATCH_EVENTS = 100_000
DAILY_DUMPS = 120
SMALL_DUMPS = 3_000
_CHDB = Path(__file__).with_name("chdb_load.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the dumps, run the comparisons, print a table. Nothing is asserted: machines differ."""
    parser = argparse.ArgumentParser(prog="bench.yardsticks", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="default: 10,000,000")
    parser.add_argument("--runs", type=int, default=3, help="of each command, in turn (default: 3)")
    parser.add_argument("--folder", type=Path, help="for dumps and warehouses (default: temporary)")
    chosen = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="ett-bench-", dir=chosen.folder) as folder:
        clean = _clean(Path(folder), chosen.events, chosen.runs)
        _daily(Path(folder), clean, chosen.runs)
        _packed(Path(folder), clean, chosen.runs)
        clean.unlink()
        _many(Path(folder), chosen.runs)
        _dirty(Path(folder), chosen.events, chosen.runs)
    return 0


def _clean(folder: Path, events: int, runs: int) -> Path:
    dump = _dump(folder, "clean", events + BATCH_EVENTS, "0")
    batch = _cut_off(dump, BATCH_EVENTS)
    size = dump.stat().st_size / 1e6
    print(f"{events:,} events, {size:,.0f} MB in one file, {runs} runs in turn")
    _line("", "wall s", "cpu s", "memory")
    rivals: dict[str, Callable[[], Cost]] = {
        "DuckDB: read_json -> table": lambda: _bare(folder, dump),
        "Polars -> DuckDB, rolled up": lambda: _polars(folder, dump),
    }
    if "CHDB_PYTHON" in os.environ:
        rivals["ClickHouse (chdb), rolled up"] = lambda: _clickhouse(folder, dump)
    ours, *others = in_turn(runs, lambda: _ingest(folder, dump), *rivals.values())
    _show("ett-ingest", middle(ours))
    for name, costs in zip(rivals, others, strict=True):
        _show(name, middle(costs))
        _ratio("  ett-ingest at this share of its speed", middle(costs), middle(ours))
    if "CHDB_PYTHON" not in os.environ:
        _line("ClickHouse (chdb)", "not run: CHDB_PYTHON names no interpreter that has chdb")
    _increment(folder, events, batch)
    return dump


def _increment(folder: Path, events: int, batch: Path) -> None:
    """What comes next, onto the warehouse that the clean runs left, beside all its facts anew."""
    warehouse = folder / "warehouse"
    small = _command("ett-ingest", "--warehouse", warehouse, batch)
    told = folder / "sweep.json"
    rebuild = python("-m", "bench.rebuild", warehouse, told)
    sweep = json.loads(told.read_text(encoding="utf-8"))["sweep_seconds"]
    _show(f"{BATCH_EVENTS:,} events onto {events:,}", small)
    _show("all facts anew, and publish", rebuild)
    _line("  the batch costs this share of it", f"{small.wall / rebuild.wall:.2f}")
    _line("  as fast as without the sweep of areas", f"{1 - sweep / rebuild.wall:.2f}")


def _daily(folder: Path, dump: Path, runs: int) -> None:
    """The same lines as a fleet that writes a dump each day has them."""
    daily = folder / "daily"
    daily.mkdir()
    size = dump.stat().st_size // DAILY_DUMPS + 1
    with dump.open("rb") as whole:
        for number in range(DAILY_DUMPS):
            (daily / f"{number:03}.jsonl").write_bytes(whole.read(size) + whole.readline())
    ours, one = map(
        middle, in_turn(runs, lambda: _ingest(folder, daily), lambda: _ingest(folder, dump))
    )
    _show(f"the same lines in {DAILY_DUMPS} dumps", ours)
    _ratio("  at this share of the speed of one", one, ours)
    shutil.rmtree(daily)


def _packed(folder: Path, dump: Path, runs: int) -> None:
    """Compressed dumps. What unpacking alone allows: the plain dump's time, and that of unpacking
    it.
    """
    for ending, pack in (("gz", _gzip), ("zst", _zstd)):
        packed = folder / f"packed.jsonl.{ending}"
        pack(dump, packed)
        ours, plain, alone = map(middle, _in_turn_packed(folder, dump, packed, runs))
        _show(f"{ending}: ett-ingest", ours)
        _show("  the same, plain", plain)
        _show("  unpacked, and nothing else", alone)
        _ratio("  ett-ingest at this share of both", _sum(plain, alone), ours)
        packed.unlink()


def _in_turn_packed(folder: Path, dump: Path, packed: Path, runs: int) -> list[list[Cost]]:
    return in_turn(
        runs,
        lambda: _ingest(folder, packed),
        lambda: _ingest(folder, dump),
        lambda: python("-m", "bench.unpacked", packed),
    )


def _sum(one: Cost, other: Cost) -> Cost:
    return Cost(one.wall + other.wall, one.cpu + other.cpu, max(one.memory, other.memory))


def _many(folder: Path, runs: int) -> None:
    """Small dumps beside the same lines in one: what a file costs, whatever it says."""
    small, whole = folder / "small", folder / "whole.jsonl"
    small.mkdir()
    events = [
        json.dumps({"event": "alive", "job_id": f"job {number}", "ts": 1_767_225_600 + number})
        for number in range(SMALL_DUMPS)
    ]
    for number, event in enumerate(events):
        (small / f"{number}.jsonl").write_text(f"{event}\n", encoding="utf-8")
    whole.write_text("\n".join(events) + "\n", encoding="utf-8")
    ours, one = map(
        middle, in_turn(runs, lambda: _ingest(folder, small), lambda: _ingest(folder, whole))
    )
    _show(f"{SMALL_DUMPS:,} dumps of one line", ours)
    _show("  the same lines in one dump", one)
    _line("  ms that each dump costs", f"{1000 * (ours.wall - one.wall) / SMALL_DUMPS:.1f}")


def _dirty(folder: Path, events: int, runs: int) -> None:
    dump = _dump(folder, "dirty", events, "0.01")
    ours, bare = in_turn(
        runs, lambda: _ingest(folder, dump), lambda: _bare(folder, dump, "--ignore-errors")
    )
    _show("1 % broken: ett-ingest", middle(ours))
    _show("1 % broken: read_json, errors ignored", middle(bare))
    _ratio("  ett-ingest at this share of its speed", middle(bare), middle(ours))


def _cut_off(dump: Path, lines: int) -> Path:
    """Move the last lines of a dump into one of their own: of its last days, and of jobs that ran
    before and that go on.
    """
    rest = dump.with_name(f"next-{dump.name}")
    with dump.open("rb+") as file, mmap.mmap(file.fileno(), 0) as text:
        end = len(text) - 1
        for _ in range(lines):
            end = text.rfind(b"\n", 0, end)
        rest.write_bytes(text[end + 1 :])
    os.truncate(dump, end + 1)
    return rest


def _dump(folder: Path, name: str, events: int, broken: str) -> Path:
    """A fleet's dumps as one file. Each field is in one of its first lines, as in a dump in any
    order it may be: with its defaults DuckDB refuses a file whose fields come late.
    """
    parts = folder / "parts"
    python(
        "-m", "sample_data", "--out", parts, "--end", END, "--events", events, "--broken", broken,
        "--seed", 7, "--days", 120, "--processes", 2,
    )  # fmt: skip
    days_of = sorted(parts.glob("events-*.jsonl"))
    first = _with_every_field(days_of)
    target = folder / f"{name}.jsonl"
    with target.open("wb") as whole:
        whole.writelines(first)
        for part in days_of:
            with part.open("rb") as day:
                whole.writelines(line for line in day if line not in first)
    shutil.rmtree(parts)
    return target


def _with_every_field(days: list[Path]) -> set[bytes]:
    found = set()
    wanted = {f'"{field}":'.encode() for field in fields.FIELDS}
    for day in days:
        with day.open("rb") as lines:
            for line in lines:
                if any(field in line for field in wanted) and line.endswith(b"}\n"):
                    found.add(line)
                    wanted = {field for field in wanted if field not in line}
    return found


def _command(name: str, *arguments: object) -> Cost:
    """Run a console script of this installation, as users do."""
    return run([str(Path(sys.executable).with_name(name)), *map(str, arguments)])


def _ingest(folder: Path, dump: Path) -> Cost:
    shutil.rmtree(folder / "warehouse", ignore_errors=True)
    return _command("ett-ingest", "--warehouse", folder / "warehouse", dump)


def _bare(folder: Path, dump: Path, *options: str) -> Cost:
    return python("-m", "bench.bare", dump, folder / "bare.duckdb", *options)


def _polars(folder: Path, dump: Path) -> Cost:
    return python("-m", "bench.polars_load", dump, folder / "polars.duckdb")


def _clickhouse(folder: Path, dump: Path) -> Cost:
    place = folder / "clickhouse"
    shutil.rmtree(place, ignore_errors=True)
    kinds = json.dumps({"texts": list(fields.TEXTS), "numbers": list(fields.WHOLE_NUMBERS)})
    return run([os.environ["CHDB_PYTHON"], str(_CHDB), str(dump), str(place), kinds])


def _gzip(plain: Path, packed: Path) -> None:
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def _zstd(plain: Path, packed: Path) -> None:
    with plain.open("rb") as source, packed.open("wb") as target:
        zstandard.ZstdCompressor(level=3).copy_stream(source, target)


def _show(name: str, cost: Cost) -> None:
    _line(name, f"{cost.wall:.1f}", f"{cost.cpu:.1f}", f"{cost.memory / 2**30:.2f} GiB")


def _ratio(name: str, yardstick: Cost, ours: Cost) -> None:
    wall, cpu = yardstick.wall / ours.wall, yardstick.cpu / ours.cpu
    _line(name, f"{wall:.2f}", f"{cpu:.2f}")


def _line(name: str, *cells: str) -> None:
    print(f"{name:<42}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
