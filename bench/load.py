"""Readers and scrapes while a fleet is ingested: `make load MINUTES=10`.

Sessions click and the exporter is scraped while `ett-ingest --watch` follows logs that grow; then
the same without ingest. Prints what clicks and scrapes took in both, and what each process held.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import duckdb

from bench import sessions
from bench.processes import python
from queries import published, watching

END = "2026-03-31"
DAYS, FIRST_DAYS = 120, 20  # the first are there before anyone reads; the others grow
LOGS = 4  # that grow at once
SCRAPE_SECONDS = 10.0  # what Prometheus waits for an answer
_NOT_READ = re.compile(rb"^ett_exporter_read_success\{[^}]*\} 0", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Demand:
    """Who reads and how often; events and seconds are those of the part with ingest."""

    readers: sessions.Pace
    quiet_seconds: float
    scrapes: int = 20  # a second
    events: int = 1_000_000  # a minute


@dataclass(slots=True)
class Part:
    """What happened with ingest, or without; MiB by process, as they were one after another."""

    seen: sessions.Seen = field(default_factory=sessions.Seen)
    scrapes: list[float] = field(default_factory=list)  # seconds
    failed_scrapes: list[str] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)  # seconds
    behind: list[int] = field(default_factory=list)  # lines written that readers did not see

    @property
    def failures(self) -> list[str]:
        return self.seen.failures + self.failed_scrapes


@dataclass(frozen=True, slots=True)
class Measured:
    """Both parts; lines that were written to logs while they were followed, and that are kept."""

    busy: Part
    quiet: Part
    written: int
    kept: int
    seconds: float  # in which they were written

    @property
    def is_good(self) -> bool:
        return not (self.busy.failures or self.quiet.failures) and self.kept == self.written


def main(arguments: Sequence[str] | None = None) -> int:
    """Load a fleet while it is read; 1 where a page or a scrape failed or an event is missing."""
    parser = argparse.ArgumentParser(prog="bench.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="with ingest (%(default)s)")
    parser.add_argument("--quiet-minutes", type=float, default=2, help="without (%(default)s)")
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--events", type=int, default=1_000_000, help="a minute (%(default)s)")
    asked = parser.parse_args(arguments)
    readers = sessions.Pace(sessions=asked.sessions, seconds=asked.minutes * 60, line=30.0)
    demand = Demand(readers, asked.quiet_minutes * 60, events=asked.events)
    with TemporaryDirectory(prefix="ett-load-") as folder:
        measured = load(Path(folder), demand)
    for failure in (measured.busy.failures + measured.quiet.failures)[:10]:
        print(failure, file=sys.stderr)
    _report(measured)
    return 0 if measured.is_good else 1


def load(folder: Path, demand: Demand) -> Measured:
    """Make a fleet, publish its first days, and let the others grow while it is read."""
    warehouse, logs = folder / "warehouse", folder / "logs"
    days = _fleet(folder / "dumps", demand)
    python("-m", "ingest.cli", "--warehouse", warehouse, *days[:FIRST_DAYS])
    before = _seen(warehouse)
    logs.mkdir()
    with (
        sessions.serving("app.dashboard", warehouse) as (pages, dashboard),
        sessions.serving("app.monitoring.exporter", warehouse) as (metrics, exporter),
    ):
        held = {"dashboard": dashboard.pid, "exporter": exporter.pid}
        growing = _Growing(days[FIRST_DAYS:], logs, demand.events / 60)
        with _watcher(warehouse, logs, folder / "said") as watcher, growing:
            every = held | {"watcher": watcher.pid}

            def behind() -> int:
                return growing.written - _seen(warehouse) + before

            busy = _part(demand, pages, metrics, every, behind)
        quiet = _part(demand, pages, metrics, held, None)
    return Measured(busy, quiet, growing.written, _seen(warehouse) - before, growing.seconds)


def _fleet(folder: Path, demand: Demand) -> list[Path]:
    """A fleet whose later days have what is to be ingested: a day's dump after the other."""
    wanted = int(demand.events * demand.readers.seconds / 60)
    python(
        "-m", "sample_data", "--out", folder, "--end", END, "--days", DAYS, "--broken", 0,
        "--events", int(wanted * 1.15 * DAYS / (DAYS - FIRST_DAYS)), "--processes", 2,
    )  # fmt: skip
    return sorted(folder.glob("events-*.jsonl"))


def _seen(warehouse: Path) -> int:
    """How many lines readers know of, as events or as set aside."""
    with duckdb.connect(str(published(warehouse)), read_only=True) as connection:
        [(seen,)] = connection.execute("select events + rejected from publication").fetchall()
    return int(seen)


@contextmanager
def _watcher(warehouse: Path, logs: Path, said: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`ett-ingest --watch` on a folder; at the end it is told to take what is there, and to go."""
    line = [sys.executable, "-m", "ingest.cli", "--watch", "--warehouse", str(warehouse), str(logs)]
    with said.open("wb") as told:
        process = subprocess.Popen(line, cwd=sessions.ROOT, stdout=told, stderr=told)
    try:
        # until it has looked once it does not know of being told to end
        while not (warehouse / watching.FILE).exists() and process.poll() is None:
            time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait()
    if status != 0:
        raise subprocess.CalledProcessError(status, line, said.read_bytes())


class _Growing:
    """Writes the lines of dumps to logs, so many a second in all, until it is over.

    Each log has a line from the start: what the first look of a watcher finds, its last one reads.
    """

    def __init__(self, days: Sequence[Path], logs: Path, events_a_second: float) -> None:
        self.written = 0
        self.seconds = 0.0
        self._rate = events_a_second
        self._lines = (line for day in days for line in day.read_bytes().splitlines(keepends=True))
        self._logs = [logs / f"node-{number}.jsonl" for number in range(LOGS)]
        self._over = threading.Event()
        self._working = threading.Thread(target=self._write)
        self._add(LOGS)

    def __enter__(self) -> _Growing:
        self._working.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._working.join()

    def _write(self) -> None:
        began = time.monotonic()
        while not self._over.wait(1.0):
            self.seconds = time.monotonic() - began
            self._add(max(0, int(self.seconds * self._rate) - self.written))

    def _add(self, due: int) -> None:
        for log in self._logs:
            lines = list(islice(self._lines, due // LOGS))
            with log.open("ab") as file:
                file.write(b"".join(lines))
            self.written += len(lines)


def _part(
    demand: Demand,
    pages: int,
    metrics: int,
    held: Mapping[str, int],
    behind: Callable[[], int] | None,
) -> Part:
    """Read for so long. `behind`: of what is ingested meanwhile, so much is not seen yet."""
    part, over = Part(memory={name: [] for name in held}), threading.Event()
    working = [
        threading.Thread(
            target=sessions.reader, args=(pages, number, demand.readers, part.seen, over)
        )
        for number in range(demand.readers.sessions)
    ]
    working += [
        threading.Thread(target=_scraper, args=(metrics, number / demand.scrapes, part, over))
        for number in range(demand.scrapes)
    ]
    for each in working:
        each.start()
    try:
        seconds = demand.quiet_seconds if behind is None else demand.readers.seconds
        began = {name: sessions.processor(pid) for name, pid in held.items()}
        _watch(part, held, behind, seconds, demand.readers.line)
        part.processor = {name: sessions.processor(held[name]) - began[name] for name in held}
    finally:
        over.set()
        for each in working:
            each.join()
    return part


def _scraper(port: int, begins: float, part: Part, over: threading.Event) -> None:
    """A scrape each second, also where the one before took longer."""
    due = time.monotonic() + begins
    while not over.wait(max(0.0, due - time.monotonic())):
        due += 1.0
        began = time.monotonic()
        problem = scrape(port)
        part.scrapes.append(time.monotonic() - began)
        if problem:
            part.failed_scrapes.append(f"scrape: {problem}")


def scrape(port: int) -> str:
    """Scrape as Prometheus does; what went wrong, if anything did."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SCRAPE_SECONDS)
    try:
        connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__} {error}"
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        return f"status {answer.status}"
    unread = _NOT_READ.search(gzip.decompress(body))
    return unread[0].decode() if unread else ""


def _watch(
    part: Part,
    held: Mapping[str, int],
    behind: Callable[[], int] | None,
    seconds: float,
    every: float,
) -> None:
    """Note and print how it goes, a line as often as that."""
    print("with ingest" if behind else "\nwithout ingest")
    _line("s", "clicks", "p50 ms", "p90 ms", "scrapes", "p50 ms", "p90 ms", "behind", "MiB of")
    print(" " * 80 + ", ".join(held), flush=True)
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        clicks, scrapes = len(part.seen.clicks), len(part.scrapes)
        time.sleep(min(every, seconds - passed))
        for name, pid in held.items():
            part.memory[name].append(sessions.memory(pid))
        part.behind += [behind()] if behind else []
        clicked, scraped = part.seen.clicks[clicks:], part.scrapes[scrapes:]
        _line(
            f"{time.monotonic() - began:.0f}",
            *(str(len(clicked)), *_cuts(clicked)[:2]),
            *(str(len(scraped)), *_cuts(scraped)[:2]),
            f"{part.behind[-1]:,}" if behind else "",
            *(f"{values[-1]:,.0f}" for values in part.memory.values()),
        )


def _report(measured: Measured) -> None:
    print(f"\n{'ms':<24}{'number':>10}{'p50':>10}{'p90':>10}{'p99':>10}{'failed':>10}")
    parts = (("with ingest", measured.busy), ("without", measured.quiet))
    for name, part in parts:
        for what, took, failed in (
            ("clicks", part.seen.clicks, part.seen.failures),
            ("scrapes", part.scrapes, part.failed_scrapes),
        ):
            print(f"{what + ' ' + name:<24}", end="")
            _line(str(len(took)), *_cuts(took), str(len(failed)))
    for name, part in parts:
        used = ", ".join(f"{process} {spent:.0f}" for process, spent in part.processor.items())
        print(f"processor seconds {name}: {used}")
    for name, values in measured.busy.memory.items():
        third = max(len(values) // 3, 1)
        print(
            f"{name}: at most {max(values[:third]):,.0f} MiB in the first third of the ingest, "
            f"{max(values[-third:]):,.0f} in the last"
        )
    print(
        f"{measured.written:,} events written in {measured.seconds:.0f} s, {measured.kept:,} kept; "
        f"readers at most {max(measured.busy.behind, default=0):,} behind"
    )


def _cuts(seconds: Sequence[float]) -> tuple[str, str, str]:
    """Their p50, p90 and p99 in milliseconds."""
    if len(seconds) < 2:
        return "-", "-", "-"
    cuts = quantiles(seconds, n=100, method="inclusive")
    return f"{cuts[49] * 1e3:.0f}", f"{cuts[89] * 1e3:.0f}", f"{cuts[98] * 1e3:.0f}"


def _line(*cells: str) -> None:
    print("".join(f"{cell:>10}" for cell in cells), flush=True)


if __name__ == "__main__":
    sys.exit(main())
