"""The dashboard behind an OpenID provider: who is let in, and that nobody else sees anything."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocket, expect

from tests.app import serving
from tests.browser.conftest import Heard, dashboard
from tests.browser.provider import CLIENT, SECRET, provider

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SOON = 30_000  # a page that comes from two servers, on two slow cores
PEOPLE = {
    "ann": {"email": "Ann@Example.org", "email_verified": True},
    "eve": {"email": "eve@elsewhere.test", "email_verified": True, "groups": ["ml"]},
}
SETTINGS = """\
[auth]
domains = ["example.org"]
"""


@dataclass(slots=True)
class Told:
    """What the server sent over the page's web socket."""

    frames: list[bytes] = field(default_factory=list)

    def says_any_of_the_fleet(self) -> bool:
        """Names that no identifier of a frame can hold by chance: those are hexadecimal."""
        return any(name in frame for frame in self.frames for name in (b"ranking", b"stubborn"))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard that lets in who is listed."""
    folder = tmp_path_factory.mktemp("closed")
    serving.publish(folder, serving.fleet())
    with provider(PEOPLE) as signing:
        (folder / "ett.toml").write_text(SETTINGS)
        (folder / "secrets.toml").write_text(
            "[auth]\n"
            'redirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
            f'cookie_secret = "{"k" * 64}"\n'
            f'client_id = "{CLIENT}"\nclient_secret = "{SECRET}"\n'
            f'server_metadata_url = "{signing.url}/.well-known/openid-configuration"\n'
        )
        with dashboard(folder) as url:
            yield url


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """Of a browser that has loaded the code of the pages, and knows nobody."""
    context.clear_cookies()  # those of another dashboard as well: a port has none of its own
    page = context.new_page()
    yield page
    page.close()
    context.clear_cookies()


@pytest.fixture
def told(page: Page) -> Told:
    heard = Told()

    def opened(socket: WebSocket) -> None:
        socket.on("framereceived", lambda said: heard.frames.append(bytes(_raw(said))))

    page.on("websocket", opened)
    return heard


# the first test of this module: it looks at what the server has opened since it came up
@pytest.mark.parametrize("path", ["/", "/job?job=stubborn"])
def test_nothing_is_read_or_told_before_somebody_signs_in(
    closed: str, page: Page, told: Told, heard: Heard, path: str
) -> None:
    page.goto(closed + path)

    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in", timeout=SOON)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_test_id("stSidebarNavLink")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert told.frames
    assert not told.says_any_of_the_fleet()
    assert [] == opened_by_server(closed)
    assert [] == heard.foreign


def test_somebody_else_is_told_so_and_can_sign_out(closed: str, page: Page, told: Told) -> None:
    sign_in(page, closed, "eve")

    expect(page.get_by_role("heading", level=1)).to_have_text("No access", timeout=SOON)
    expect(page.get_by_text("this dashboard is not open to you")).to_be_visible()
    expect(page.get_by_text("eve@elsewhere.test")).to_be_visible()
    assert not told.says_any_of_the_fleet()
    assert [] == opened_by_server(closed)

    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in", timeout=SOON)


def test_a_cookie_that_the_server_did_not_sign_opens_nothing(page: Page, closed: str) -> None:
    forged = '"{\\"email\\": \\"ann@example.org\\", \\"is_logged_in\\": true}"'
    page.context.add_cookies([{"name": "_streamlit_user", "value": forged, "url": closed}])
    page.goto(closed)

    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in", timeout=SOON)


def test_who_is_listed_reads_and_signs_out(closed: str, page: Page, heard: Heard) -> None:
    sign_in(page, closed, "ann")

    expect(page.get_by_role("heading", level=1)).to_have_text("Overview", timeout=SOON)
    expect(page.get_by_text("Signed in as Ann@Example.org")).to_be_visible()
    assert [] != opened_by_server(closed)

    page.goto(f"{closed}/job?job=stubborn")

    expect(page.get_by_role("heading", level=2).first).to_have_text("stubborn", timeout=SOON)
    assert [] == heard.foreign

    page.get_by_role("button", name="Sign out").click()

    # not before the browser has forgotten who it was
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in", timeout=SOON)
    page.goto(f"{closed}/jobs")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in", timeout=SOON)


@pytest.mark.parametrize("accept", ["text/html", "*/*"])
@pytest.mark.parametrize("path", ["/", "/_stcore/health", "/static/nothing", "/auth/login"])
def test_every_answer_has_safe_headers(closed: str, path: str, accept: str) -> None:
    connection = HTTPConnection("127.0.0.1", urlsplit(closed).port or 0, timeout=20)
    connection.request("GET", path, headers={"Accept": accept})
    reply = connection.getresponse()
    reply.read()
    connection.close()

    assert "nosniff" == reply.headers["X-Content-Type-Options"]
    assert "same-origin" == reply.headers["Referrer-Policy"]
    assert "SAMEORIGIN" == reply.headers["X-Frame-Options"]


def test_it_listens_on_loopback_where_it_is_told_nothing_else(closed: str) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", urlsplit(closed).port or 0), timeout=20)


def sign_in(page: Page, url: str, who: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=who).click()


def opened_by_server(url: str) -> list[str]:
    """The published files that the server of this address has open."""
    flag = f"--server.port={urlsplit(url).port}".encode()
    (server,) = (each for each in Path("/proc").glob("[0-9]*") if flag in _of(each / "cmdline"))
    return [str(link) for link in (server / "fd").iterdir() if b"serving-" in _of(link)]


def _of(path: Path) -> bytes:
    """What a file of /proc says, or where its link leads; nothing where it is gone meanwhile."""
    try:
        return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    except OSError:
        return b""


def _raw(said: str | bytes) -> bytes:
    return said.encode() if isinstance(said, str) else said
