"""`make bench`: how fast is ingest, beside what DuckDB alone needs for the same file?"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import causes, detection, pages, texts
from bench.processes import Cost, in_turn, middle, python
from ingest import fields

END = "2026-03-01"
BATCH_EVENTS = 100_000


def main() -> int:
    """Make the dumps, run the comparisons, print a table. Nothing is asserted: machines differ."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="default: 10,000,000")
    parser.add_argument("--runs", type=int, default=3, help="of each command, in turn (default: 3)")
    parser.add_argument("--folder", type=Path, help="for dumps and warehouses (default: temporary)")
    chosen = parser.parse_args()
    with TemporaryDirectory(prefix="ett-bench-", dir=chosen.folder) as folder:
        _compare(Path(folder), chosen.events, chosen.runs)
    print("\nText formats")
    texts.main()
    print("\nCauses")
    causes.main()
    print("\nDetection, on few fleets: `python -m bench.detection --full` takes an hour")
    detection.main([])
    print("\nPages of a fleet-year")
    pages.main()
    return 0


def _compare(folder: Path, events: int, runs: int) -> None:
    clean = _dump(folder, "clean", events, "0")
    size = clean.stat().st_size / 1e6
    print(f"{events:,} events, {size:,.0f} MB in one file, {runs} runs in turn")
    _line("", "wall s", "cpu s", "memory", "")
    ours, bare = in_turn(runs, lambda: _ingest(folder, clean), lambda: _bare(folder, clean))
    _show("clean: ett-ingest", middle(ours))
    _show("clean: read_json -> table", middle(bare))
    _ratio("ingest at this share of its speed", middle(bare), middle(ours))
    _increment(folder, events)
    clean.unlink()
    dirty = _dump(folder, "dirty", events, "0.01")
    ours, bare = in_turn(
        runs, lambda: _ingest(folder, dirty), lambda: _bare(folder, dirty, "--ignore-errors")
    )
    _show("1 % broken: ett-ingest", middle(ours))
    _show("1 % broken: read_json, errors ignored", middle(bare))
    _ratio("ingest at this share of its speed", middle(bare), middle(ours))


def _increment(folder: Path, events: int) -> None:
    """A small batch onto the warehouse that the clean runs left, beside all its facts anew."""
    batch = _dump(folder, "batch", BATCH_EVENTS, "0", seed=11, days=2)
    warehouse = folder / "warehouse"
    small = python("-m", "ingest.cli", "--warehouse", warehouse, batch)
    rebuild = python("-m", "bench.rebuild", warehouse)
    _show(f"{BATCH_EVENTS:,} events onto {events:,}", small)
    _show("all facts anew, and publish", rebuild)
    _line("the batch costs this share of it", f"{small.wall / rebuild.wall:.2f}", "", "", "")


def _dump(
    folder: Path, name: str, events: int, broken: str, seed: int = 7, days: int = 120
) -> Path:
    """A fleet's dumps as one file. Each field is in one of its first lines, as in a dump in any
    order it may be: with its defaults DuckDB refuses a file whose fields come late.
    """
    parts = folder / "parts"
    python(
        "-m", "sample_data", "--out", parts, "--end", END, "--events", events, "--broken", broken,
        "--seed", seed, "--days", days, "--processes", 2,
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


def _ingest(folder: Path, dump: Path) -> Cost:
    shutil.rmtree(folder / "warehouse", ignore_errors=True)
    return python("-m", "ingest.cli", "--warehouse", folder / "warehouse", dump)


def _bare(folder: Path, dump: Path, *options: str) -> Cost:
    return python("-m", "bench.bare", dump, folder / "bare.duckdb", *options)


def _show(name: str, cost: Cost) -> None:
    _line(name, f"{cost.wall:.1f}", f"{cost.cpu:.1f}", f"{cost.memory / 2**30:.2f} GiB", "")


def _ratio(name: str, yardstick: Cost, ours: Cost) -> None:
    wall, cpu = yardstick.wall / ours.wall, yardstick.cpu / ours.cpu
    _line(name, f"{wall:.2f}", f"{cpu:.2f}", "", "")


def _line(name: str, *cells: str) -> None:
    print(f"{name:<40}" + "".join(f"{cell:>10}" for cell in cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
