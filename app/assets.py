"""Streamlit's own scripts and styles, faster: kept in memory once they were asked for, and named in
the index page, so that a browser fetches and reads them while the first page is still computed.

Knows nothing of what the pages show but which of Streamlit's pieces they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import streamlit
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# What the first screen of most pages is made of, which Streamlit else asks for piece by piece, each
# after a message has named it: the largest, plotly, would come last.
PIECES: Final = ("PlotlyChart", "Metric", "Selectbox", "ButtonGroup", "DownloadButton", "Html")
_STATIC: Final = Path(streamlit.__file__).parent / "static"
_IMPORTED: Final = re.compile(r'(?:from|import)\s*["`\']\./([\w.-]+\.js)["`\']')


class Remembered:
    """ASGI middleware: what may be kept for ever is read from disk once.

    Streamlit reads each file anew, in pieces, on the threads that pages run beside.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.answers: dict[str, tuple[Message, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_asset(scope):
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path not in self.answers:
            await self.app(scope, receive, self._noting(path, send))
            return
        start, body = self.answers[path]
        await send({**start, "headers": list(start["headers"])})
        await send({"type": "http.response.body", "body": body})

    def _noting(self, path: str, send: Send) -> Send:
        start: Message = {}
        body: list[bytes] = []

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif _is_kept(start):
                body.append(message.get("body", b""))
                if not message.get("more_body"):
                    kept = {**start, "headers": list(start["headers"])}
                    self.answers[path] = (kept, b"".join(body))
            await send(message)

        return note


def preloads() -> bytes:
    """Links for the head of the index page: `PIECES`, and what they import.

    The first of them also runs, once Streamlit's own script has: else the first figure waits.
    """
    index = (_STATIC / "index.html").read_text(encoding="utf-8")
    named = dict.fromkeys(name for piece in PIECES for name in _needed(piece))
    links = "".join(
        f'<link rel="modulepreload" crossorigin href="./static/js/{name}">'
        for name in named
        if name not in index
    )
    run = "".join(f'import("./static/js/{path.name}");' for path in _files(PIECES[0]))
    return f'{links}<script type="module">{run}</script>'.encode()


def _needed(piece: str) -> list[str]:
    """The file of a piece, and every file that it imports, and so on."""
    found: list[str] = []
    waiting = [path.name for path in _files(piece)]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found.append(name)
            waiting.extend(_imports(name))
    return found


def _files(piece: str) -> list[Path]:
    return sorted((_STATIC / "static" / "js").glob(f"{piece}.*.js"))


def _imports(name: str) -> Iterator[str]:
    text = (_STATIC / "static" / "js" / name).read_text(encoding="utf-8")
    return (found[1] for found in _IMPORTED.finditer(text))


def _is_asset(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "/static/" in scope["path"]
        and "range" not in Headers(scope=scope)
    )


def _is_kept(start: Message) -> bool:
    """Whether Streamlit says that the answer never changes: only of a file that exists, so that
    what is kept is no more than it brings along.
    """
    told = Headers(raw=start["headers"]).get("cache-control", "")
    return start["status"] == 200 and "immutable" in told
