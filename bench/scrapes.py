"""What a scrape takes while ingests publish, beside an exporter that nobody disturbs.

`python -m bench.scrapes`. The sample fleet's last days come in one by one, each published.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from threading import Thread

from bench import sessions
from bench.load import END, scrape
from bench.processes import python

LAST_DAYS = 12
PAUSE_SECONDS = 0.25
IDLE_SCRAPES = 80


def main() -> int:
    """Print a line for both; 1 where a scrape failed."""
    with TemporaryDirectory(prefix="ett-bench-") as folder:
        return _compare(Path(folder))


def _compare(folder: Path) -> int:
    warehouse = folder / "warehouse"
    python("-m", "sample_data", "--out", folder / "dumps", "--end", END)
    days = sorted((folder / "dumps").glob("*.jsonl"))
    python("-m", "ingest.cli", "--warehouse", warehouse, *days[:-LAST_DAYS])

    def ingest() -> None:
        for day in days[-LAST_DAYS:]:
            python("-m", "ingest.cli", "--warehouse", warehouse, day)

    with sessions.serving("app.monitoring.exporter", warehouse) as (port, _):
        idle, failed = _scraped(port, lambda taken: taken < IDLE_SCRAPES)
        working = Thread(target=ingest)
        working.start()
        busy, failed_then = _scraped(port, lambda _: working.is_alive())
        working.join()
        print(f"{_series(port):,} series; a scrape in ms:{'':9}   p50     p90    most  number")
    _line("nobody disturbs the exporter", idle)
    _line(f"while {LAST_DAYS} ingests publish", busy)
    for failure in (failed + failed_then)[:10]:
        print(failure, file=sys.stderr)
    return 1 if failed or failed_then else 0


def _scraped(port: int, goes_on: Callable[[int], bool]) -> tuple[list[float], list[str]]:
    """Seconds of each scrape, and what went wrong."""
    seconds: list[float] = []
    failed: list[str] = []
    while goes_on(len(seconds)):
        began = time.monotonic()
        problem = scrape(port)
        seconds.append(time.monotonic() - began)
        if problem:
            failed.append(problem)
        time.sleep(PAUSE_SECONDS)
    return seconds, failed


def _series(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().splitlines()
    connection.close()
    return sum(not line.startswith(b"#") for line in lines)


def _line(name: str, seconds: Sequence[float]) -> None:
    cuts = quantiles(seconds, n=100)
    told = (cuts[49], cuts[89], max(seconds))
    print(f"{name:<36}" + "".join(f"{each * 1000:8.1f}" for each in told) + f"{len(seconds):8}")


if __name__ == "__main__":
    sys.exit(main())
