"""Both faces up together: starts dashboard and exporter, says where they are, stops both.

`make run` and `make serve` end here. It never looks at what the faces show, and starts neither
where a port is taken.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app import ports

HOST = "127.0.0.1"
START_SECONDS = 120.0  # a cold disk and one core
STOP_SECONDS = 10.0
PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Face:
    """A server to start; up when `health` answers 200, and with `body` where that is given."""

    name: str
    command: tuple[str, ...]
    port: int
    port_variable: str
    health: str
    body: str | None = None
    home: str = "/"

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}{self.home}"


class CannotServe(Exception):
    """Says which face cannot be up, and what to do next."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes (0); 1 if a face dies, 2 if a port cannot be used."""
    options = _options(arguments)
    dashboard, exporter = faces = both_faces(options.dashboard_port, options.exporter_port)
    try:
        if dashboard.port == exporter.port:
            raise CannotServe(f"dashboard and exporter cannot both have port {exporter.port}.")
        for face in faces:
            refuse_taken_port(face)
    except CannotServe as refusal:
        print(f"serve: {refusal}", file=sys.stderr)
        return 2
    return 0 if options.check else serve(faces)


def both_faces(dashboard_port: int, exporter_port: int) -> tuple[Face, Face]:
    """The two faces, as the console scripts beside this interpreter."""
    return (
        Face(
            name="dashboard",
            command=_script("ett-dashboard", dashboard_port),
            port=dashboard_port,
            port_variable="DASHBOARD_PORT",
            health="/_stcore/health",
            body="ok",  # streamlit answers 200 on every path, with its index page
        ),
        Face(
            name="exporter",
            command=_script("ett-exporter", exporter_port),
            port=exporter_port,
            port_variable="EXPORTER_PORT",
            health="/-/healthy",
            home="/metrics",
        ),
    )


def refuse_taken_port(face: Face) -> None:
    """Raise CannotServe if nobody can listen on the face's port now."""
    if why := ports.why_not(HOST, face.port):
        free = ports.next_free(HOST, face.port)
        raise CannotServe(
            f"port {face.port} of the {face.name} cannot be used: {why}. Stop what "
            # not `make run`, which loads the sample fleet into the warehouse of whoever serves one
            f"listens there, or give make another: {face.port_variable}={free}"
        )


def serve(faces: Sequence[Face]) -> int:
    """Start the faces, wait for a signal, stop them."""
    with _signals() as signals:
        running: list[subprocess.Popen[bytes]] = []
        try:
            running.extend(_start(face) for face in faces)
            if _wait(faces, running, signals):
                _announce(faces)
            while not signals:
                _refuse_dead(faces, running)
                time.sleep(PAUSE_SECONDS)
        except CannotServe as refusal:
            print(f"serve: {refusal}", file=sys.stderr)
            return 1
        finally:
            _stop(running)
    print("Stopped.", file=sys.stderr)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m app.serve", description=__doc__)
    parser.add_argument(
        "--dashboard-port", type=_port, default=os.environ.get("DASHBOARD_PORT") or "8501"
    )
    parser.add_argument(
        "--exporter-port", type=_port, default=os.environ.get("EXPORTER_PORT") or "9108"
    )
    parser.add_argument("--check", action="store_true", help="only see whether the ports are free")
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 1 to 65535")
    return int(text)


def _script(name: str, port: int) -> tuple[str, ...]:
    return (str(Path(sys.executable).with_name(name)), "--host", HOST, "--port", str(port))


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The stop signals that have come so far."""
    come: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda n, _: come.append(n)) for number in numbers}
    try:
        yield come
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(face: Face) -> subprocess.Popen[bytes]:
    # a session of its own: Ctrl-C in a terminal then reaches only us, who stop both in order
    try:
        return subprocess.Popen(face.command, start_new_session=True)  # noqa: S603 - our own scripts
    except OSError as error:
        raise CannotServe(
            f"the {face.name} cannot be started: {error.strerror}: {face.command[0]}. "
            f"Run `make install`."
        ) from error


def _wait(
    faces: Sequence[Face], running: Sequence[subprocess.Popen[bytes]], signals: Sequence[int]
) -> bool:
    """True once every face answers, False if a signal comes first."""
    deadline = time.monotonic() + START_SECONDS
    waiting = list(faces)
    while waiting and not signals:
        _refuse_dead(faces, running)
        if time.monotonic() > deadline:
            raise CannotServe(f"the {waiting[0].name} did not answer in {START_SECONDS:.0f} s.")
        waiting = [face for face in waiting if not _answers(face)]
        time.sleep(PAUSE_SECONDS)
    return not waiting


def _answers(face: Face) -> bool:
    # not urllib, which would ask a proxy that the environment names
    connection = http.client.HTTPConnection(HOST, face.port, timeout=2)
    try:
        connection.request("GET", face.health)
        response = connection.getresponse()
        body = response.read(1000).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return response.status == 200 and face.body in (None, body)


def _announce(faces: Sequence[Face]) -> None:
    width = max(len(face.name) for face in faces)
    for face in faces:
        print(f"{face.name.capitalize():<{width}}  {face.url}")
    print("Ctrl-C stops both.", flush=True)


def _refuse_dead(faces: Sequence[Face], running: Sequence[subprocess.Popen[bytes]]) -> None:
    for face, process in zip(faces, running, strict=True):
        if (code := process.poll()) is not None:
            raise CannotServe(f"the {face.name} ended by itself with exit code {code}, see above.")


def _stop(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        _signal_session(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline and any(process.poll() is None for process in running):
        time.sleep(PAUSE_SECONDS)
    for process in running:
        _signal_session(process, signal.SIGKILL)  # also what a face may have left behind
        process.wait()


def _signal_session(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main())
