"""A server of the dashboard on a small published fleet, and Debian's chromium to look at it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.app import serving

ROOT = Path(__file__).parents[2]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--process-per-site",  # what one page has compiled the next one need not: see `context`
    # pages live for seconds beside other tests, and no processor is idle: compiling their code to
    # run faster, in threads of its own, is more work than it saves
    "--js-flags=--single-threaded --no-opt --no-maglev --min-semi-space-size=64",
)
# what moves is drawn sixty times a second, by the processor
VIEW: Any = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
_ended: list[int] = []  # the ports of dashboards that have


@dataclass(slots=True)
class Heard:
    """What a page did that it must not do."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # a busy machine is slow, not wrong
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def fleet_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browsed-fleet")
    serving.publish(folder, serving.fleet())
    with dashboard(folder) as url:
        yield url


@pytest.fixture(scope="session")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browsed-hostile")
    serving.publish(folder, serving.hostile())
    with dashboard(folder) as url:
        yield url


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One for all pages: what a browser has loaded once it need not load again."""
    context = browser.new_context(**VIEW)
    # the process of a site ends, and forgets what it compiled, with the last page of it
    stays = context.new_page()
    stays.route("**", lambda asked: asked.fulfill(body=""))
    stays.goto("http://127.0.0.1/")
    yield context
    context.close()


@contextmanager
def fresh_page(browser: Browser) -> Iterator[Page]:
    """A page that shares nothing: for what cuts the network."""
    context = browser.new_context(**VIEW)
    yield context.new_page()
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture(scope="module")
def _kept(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


@pytest.fixture
def kept(_kept: Page) -> Page:
    """A page that goes on from test to test, for what is not about loading one: see `turn_to`."""
    _kept.keyboard.press("Escape")  # whatever a test left open
    _kept.mouse.move(0, 0)
    _kept.set_viewport_size(VIEW["viewport"])
    _kept.emulate_media(color_scheme="light")
    return _kept


@pytest.fixture
def heard(page: Page) -> Heard:
    """Console errors, uncaught exceptions, and requests to another machine."""
    return listen(page)


def listen(page: Page) -> Heard:
    """Hear what a page does from now on."""
    found = Heard()

    def console(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.errors.append(message.text)

    def request(asked: Request) -> None:
        if not re.match(r"(http|ws)://127\.0\.0\.1:|data:|blob:", asked.url):
            found.foreign.append(asked.url)

    page.on("console", console)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("request", request)
    return found


@contextmanager
def dashboard(warehouse: Path) -> Iterator[str]:
    """The dashboard on a free port, started in a folder that is not the project's."""
    port = _port()
    server = subprocess.Popen(
        [
            str(Path(sys.executable).with_name("ett-dashboard")),
            f"--port={port}",
            f"--warehouse={warehouse}",
        ],
        cwd=warehouse,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_up(server, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(timeout=20)
        finally:
            server.kill()  # what does not end fails this test, and no other
            server.wait()
            _ended.append(port)


def _port() -> int:
    """That of a dashboard that has ended, if nobody took it since: the browser need not compile
    again what it has loaded from the same address before.
    """
    while _ended:
        port = _ended.pop()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            with suppress(OSError):
                listener.bind(("127.0.0.1", port))
                return port
    return free_port()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


def wait_until_up(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert server.poll() is None, "the dashboard ended"
        connection = HTTPConnection("127.0.0.1", port, timeout=1)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().read() == b"ok":
                return
        except OSError:
            time.sleep(0.2)
        finally:
            connection.close()
    raise AssertionError("the dashboard did not come up")
