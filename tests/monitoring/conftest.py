"""A warehouse folder, and an exporter that serves it from within the test."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.monitoring.follower import Follower, Pace
from app.monitoring.server import Server


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True, slots=True)
class Exporter:
    port: int
    follower: Follower

    def get(self, path: str = "/metrics", method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=named)
            response = connection.getresponse()
            return Reply(response.status, dict(response.headers), response.read())
        finally:
            connection.close()

    def samples(self) -> dict[str, str]:
        """Value by series, as written."""
        lines = self.get().text().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


@pytest.fixture
def exporter(warehouse: Path) -> Iterator[Exporter]:
    """Looks for a new publish only when it is asked."""
    yield from serving(warehouse, Pace(patience=20, interval=600, retry=0))


@pytest.fixture
def serve(warehouse: Path) -> Iterator[Callable[[Pace], Exporter]]:
    """An exporter of another pace."""
    running: list[Iterator[Exporter]] = []

    def start(pace: Pace) -> Exporter:
        running.append(serving(warehouse, pace))
        return next(running[-1])

    yield start
    for one in running:
        next(one, None)


def serving(warehouse: Path, pace: Pace) -> Iterator[Exporter]:
    follower = Follower(warehouse, "1.2.3", pace)
    server = Server("127.0.0.1", 0, follower)
    follower.start()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield Exporter(server.server_port, follower)
    server.shutdown()
    server.server_close()
    thread.join()
    follower.stop()
