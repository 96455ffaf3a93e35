"""Streamlit's own files: named in the index page before they are asked for, kept once they were."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import assets

SCRIPTS = Path(streamlit.__file__).parent / "static" / "static" / "js"
FILE = "/static/js/a.js"
FOR_EVER = {"cache-control": "public, immutable, max-age=31536000"}


@pytest.mark.parametrize("piece", assets.PIECES)
def test_each_piece_is_a_script_of_this_streamlit_and_is_named(piece: str) -> None:
    (script,) = SCRIPTS.glob(f"{piece}.*.js")

    assert f'href="./static/js/{script.name}"' in assets.preloads().decode()


def test_every_script_that_is_named_is_there_once_and_not_named_by_streamlit() -> None:
    named = re.findall('href="./static/js/([^"]+)"', assets.preloads().decode())
    index = (SCRIPTS.parents[1] / "index.html").read_text(encoding="utf-8")

    assert sorted(set(named)) == sorted(named)
    assert [] == [name for name in named if not (SCRIPTS / name).exists() or name in index]


def test_plotly_runs_before_the_first_figure_asks_for_it() -> None:
    (script,) = SCRIPTS.glob("PlotlyChart.*.js")

    assert f'import("./static/js/{script.name}")' in assets.preloads().decode()


class Disk:
    """What is under the middleware: one file, sent in two pieces, and how often it was read."""

    def __init__(self, headers: dict[str, str], status: int = 200) -> None:
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self.status = status
        self.reads = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reads += 1
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": b"on", "more_body": True})
        await send({"type": "http.response.body", "body": b"e"})


def ask(app: ASGIApp, path: str = FILE, method: str = "GET", **headers: str) -> list[Message]:
    """What a server would send for one request, its body in one piece."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(dict(message))

    async def receive() -> Message:
        raise AssertionError("nothing is uploaded")

    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "headers": told}

    async def answer() -> None:
        await app(scope, receive, send)

    # nothing here waits; and the browser's tests may have a loop that runs in this thread
    with pytest.raises(StopIteration):
        answer().send(None)
    body = b"".join(message.get("body", b"") for message in sent)
    return [sent[0], {"body": body}]


def test_a_file_that_never_changes_is_read_once() -> None:
    disk = Disk(FOR_EVER)
    app = assets.Remembered(disk)
    first, second = ask(app), ask(app)

    assert 1 == disk.reads
    assert {"body": b"one"} == first[1]
    assert first == second


@pytest.mark.parametrize(
    ("disk", "path"),
    [
        (Disk({"cache-control": "no-cache"}), FILE),
        (Disk(FOR_EVER, status=404), FILE),
        (Disk(FOR_EVER), "/media/a.js"),
    ],
    ids=["what may change", "what is not there", "what a page made"],
)
def test_nothing_else_is_kept(disk: Disk, path: str) -> None:
    app = assets.Remembered(disk)
    ask(app, path)
    ask(app, path)

    assert 2 == disk.reads


def test_a_part_of_a_file_is_not_taken_for_all_of_it() -> None:
    disk = Disk(FOR_EVER)
    app = assets.Remembered(disk)
    ask(app, range="bytes=0-1")
    ask(app, method="HEAD")
    ask(app)

    assert 3 == disk.reads


def test_what_is_changed_in_an_answer_does_not_change_the_next() -> None:
    app = assets.Remembered(Disk(FOR_EVER))
    first = [ask(app) for _ in range(2)][1]
    first[0]["headers"].append((b"x", b"y"))

    assert (b"x", b"y") not in ask(app)[0]["headers"]
