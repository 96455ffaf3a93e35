"""The web server: streamlit's, with two answers changed so that a page stays on its own machine.

`streamlit run` finds `app` here. What the pages show is main.py's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A deep link would else ask /jobs/_stcore/health first, a 404 in every reader's console.
_ROOT_SCRIPT: Final = (
    b'<script>window.__streamlit={BACKEND_BASE_URL:new URL("./",document.baseURI).href}</script>'
)
_HEAD: Final = b"<head>"


class Confined:
    """ASGI middleware: index pages know their server's root, and may load from nowhere else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        host = Headers(scope=scope).get("host", "")
        plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        start: Message = {}
        body = b""

        async def hold(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            page = body.replace(_HEAD, _HEAD + _ROOT_SCRIPT, 1)
            headers = MutableHeaders(scope=start)
            headers["content-length"] = str(len(page))
            headers["content-security-policy"] = _policy(host)
            await send(start)
            await send({"type": "http.response.body", "body": page})

        await self.app({**scope, "headers": plain}, receive, hold)


def _policy(host: str) -> str:
    """What the pages may load: streamlit's own scripts and styles, inline ones, nothing foreign."""
    rules = {
        "default-src": "'self'",
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "connect-src": f"'self' ws://{host} wss://{host} data: blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


app = st.App(Path(__file__).with_name("main.py"), middleware=[Middleware(Confined)])
