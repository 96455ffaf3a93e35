"""Readers who click while a fleet is published: `make soak MINUTES=20`.

Each session speaks to one dashboard as a browser does, and clicks on; meanwhile copies of the
published file take its place. Prints how long clicks took and how much memory the server holds.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from bench.processes import python
from queries import published

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("", "lost-time", "start-recover", "checkpoints", "failures", "jobs", "data")
TEAMS = ("fleet", "ranking", "feed", "ads")
KEPT = 3  # published files, as an ingest keeps them
_SCOPE = re.compile("GPU-hours(?: without [^\u00b7]+)? \u00b7")  # of the line on top of a page
START_SECONDS, CLICK_SECONDS = 60.0, 120.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How many readers, for how long and until how many clicks at least, and the seconds between
    clicks, publishes and lines.
    """

    sessions: int = 20
    seconds: float = 1200.0
    clicks: int = 0
    click: float = 10.0
    publish: float = 15.0
    line: float = 60.0


@dataclass(slots=True)
class Seen:
    """What has happened so far; written by many threads, whose appends are whole."""

    clicks: list[float] = field(default_factory=list)  # seconds to the end of the page
    scopes: set[str] = field(default_factory=set)  # teams that pages spoke of
    failures: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)  # MiB
    publishes: int = 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak a sample fleet, or the warehouse that is given (a copy of it); 1 where a page failed."""
    parser = argparse.ArgumentParser(prog="bench.sessions", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--warehouse", type=Path, help="default: the sample fleet")
    asked = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="ett-soak-") as folder:
        warehouse = Path(folder) / "warehouse"
        if asked.warehouse:
            shutil.copytree(asked.warehouse, warehouse)
        else:
            _sample(Path(folder), warehouse)
        seen = soak(warehouse, Pace(sessions=asked.sessions, seconds=asked.minutes * 60))
    for failure in seen.failures[:10]:
        print(failure, file=sys.stderr)
    print(f"{len(seen.clicks)} clicks, {seen.publishes} publishes, {len(seen.failures)} failures")
    third = max(len(seen.memory) // 3, 1)
    early, late = max(seen.memory[:third]), max(seen.memory[-third:])
    print(f"memory at most {early:,.0f} MiB in the first third, {late:,.0f} MiB in the last")
    return 1 if seen.failures else 0


def soak(warehouse: Path, pace: Pace) -> Seen:
    """Let sessions click and publishes come for so long. Changes the warehouse's CURRENT."""
    seen, over = Seen(), threading.Event()
    with serving("app.dashboard", warehouse) as (port, process):
        working = [
            threading.Thread(target=reader, args=(port, number, pace, seen, over))
            for number in range(pace.sessions)
        ]
        working.append(threading.Thread(target=_publisher, args=(warehouse, pace, seen, over)))
        for each in working:
            each.start()
        try:
            _watch(process, pace, seen)
        finally:
            over.set()
            for each in working:
                each.join()
    return seen


def reader(port: int, number: int, pace: Pace, seen: Seen, over: threading.Event) -> None:
    """One session after another that opens pages of a team, until it is over."""
    chance = random.Random(number)
    over.wait(pace.click * number / pace.sessions)  # not all at once
    while not over.is_set():
        team = chance.choice(TEAMS)
        try:
            with _session(port) as session:
                for _ in range(6):  # then as from another tab
                    began = time.monotonic()
                    if over.is_set():
                        return
                    _click(session, chance.choice(PAGES), team, seen)
                    seen.clicks.append(time.monotonic() - began)
                    over.wait(max(0.0, pace.click - (time.monotonic() - began)))
        except (OSError, WebSocketException) as error:
            seen.failures.append(f"session {number}: {type(error).__name__} {error}")
            over.wait(pace.click)


def _session(port: int) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{port}/_stcore/stream",
        subprotocols=["streamlit"],  # type: ignore[list-item]
        max_size=None,
        proxy=None,
    )


def _click(session: ClientConnection, page: str, team: str, seen: Seen) -> None:
    """Open a page of a team and read it to its end."""
    ask = BackMsg()
    ask.rerun_script.query_string = f"team={team}"
    ask.rerun_script.page_name = page
    session.send(ask.SerializeToString())
    while True:
        answer = session.recv(timeout=CLICK_SECONDS)
        message = ForwardMsg()
        message.ParseFromString(answer if isinstance(answer, bytes) else answer.encode())
        kind = message.WhichOneof("type")
        if kind == "script_finished":
            return
        if kind != "delta":
            continue
        element = message.delta.new_element
        if element.HasField("exception"):
            seen.failures.append(f"{page or 'overview'} of {team}: {element.exception.message}")
        elif element.HasField("alert") and "could not be read" in element.alert.body:
            seen.failures.append(f"{page or 'overview'} of {team}: {element.alert.body}")
        elif _SCOPE.search(said := element.markdown.body):
            seen.scopes.add(said.partition(" \u00b7")[0].strip("` ").lower())


def _publisher(warehouse: Path, pace: Pace, seen: Seen, over: threading.Event) -> None:
    """The same numbers again under the next name, as an ingest without news would."""
    while not over.wait(pace.publish):
        now = published(warehouse)
        number = int(now.stem.partition("-")[2]) + 1
        shutil.copy(now, warehouse / f"serving-{number}.duckdb")
        (warehouse / "CURRENT.new").write_text(f"serving-{number}.duckdb", encoding="utf-8")
        (warehouse / "CURRENT.new").rename(warehouse / "CURRENT")
        (warehouse / f"serving-{number - KEPT}.duckdb").unlink(missing_ok=True)
        seen.publishes += 1


def _watch(process: subprocess.Popen[bytes], pace: Pace, seen: Seen) -> None:
    print(f"{'s':>6}{'clicks':>8}{'p50 ms':>8}{'p90 ms':>8}{'MiB':>8}", flush=True)
    began = time.monotonic()
    until = began + pace.seconds
    while time.monotonic() < until:
        before = len(seen.clicks)
        time.sleep(min(pace.line, max(0.0, until - time.monotonic())))
        if len(seen.clicks) < pace.clicks and time.monotonic() < began + CLICK_SECONDS:
            until = max(until, time.monotonic() + pace.line)  # a busy machine is slow, not wrong
        seen.memory.append(memory(process.pid))
        told = seen.clicks[before:]
        cuts = quantiles(told, n=10) if len(told) > 1 else [0.0] * 9
        print(
            f"{time.monotonic() - began:>6.0f}{len(told):>8}"
            f"{cuts[4] * 1e3:>8.0f}{cuts[8] * 1e3:>8.0f}{seen.memory[-1]:>8.0f}",
            flush=True,
        )


def memory(pid: int) -> float:
    """What a process holds now, in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(pid: int) -> float:
    """How long a process has kept processors busy, in seconds."""
    told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _sample(folder: Path, warehouse: Path) -> None:
    python("-m", "sample_data", "--out", folder / "dumps", "--end", "2026-03-31")
    dumps = sorted((folder / "dumps").glob("*.jsonl"))
    as_of = "2026-04-01T00:00:00Z"
    python("-m", "ingest.cli", "--warehouse", warehouse, "--as-of", as_of, *dumps)


@contextmanager
def serving(module: str, warehouse: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A face of a warehouse, once it listens: its port, and its process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", module, f"--port={port}", f"--warehouse={warehouse}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_up(port)
        yield port, process
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_until_up(port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing listens at port {port} within {START_SECONDS:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
