"""The web server: streamlit's, with safe headers, and with its index page changed: a page stays on
its own machine, the back button goes back by what a reader did, figures fit on paper, and screen
readers find their way.

`streamlit run` finds `app` here. What the pages show is main.py's business.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import assets, sign_in

# A deep link would else ask /jobs/_stcore/health first, a 404 in every reader's console.
_ROOT_SCRIPT: Final = (
    b'<script>window.__streamlit={BACKEND_BASE_URL:new URL("./",document.baseURI).href}</script>'
)
# Streamlit pushes one click as several addresses, half of them without the filters: the first is
# pushed, those that follow without another click or key replace it.
_HISTORY_SCRIPT: Final = b"""<script>
(() => {
  let acted = true;
  for (const kind of ["pointerdown", "keydown"])
    addEventListener(kind, () => { acted = true; }, { capture: true });
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  history.pushState = (state, title, url) => {
    (acted ? push : replace)(state, title, url);
    acted = false;
  };
})();
</script>"""
# Figures have the size that they had on the screen: the page keeps its width, and is scaled to that
# of the paper (A4 less its margins, in pixels), so that nothing is drawn anew or cut off.
_PRINT_SCRIPT: Final = b"""<script>
addEventListener("beforeprint", () => {
  const page = document.querySelector('[data-testid="stMainBlockContainer"]');
  if (!page) return;
  const width = page.getBoundingClientRect().width;
  document.body.style.setProperty("--screen-width", `${width}px`);
  document.body.style.setProperty("--paper-zoom", Math.min(725 / width, 0.75));
});
</script>"""
# Streamlit's navigation is a list whose items are not its children, which screen readers stumble
# over.
_ROLES_SCRIPT: Final = b"""<script>
addEventListener("DOMContentLoaded", () => {
  const nav = '[data-testid="stSidebarNavItems"]';
  const mend = () => {
    for (const each of document.querySelectorAll(`${nav}:not([role]), ${nav} li:not([role])`))
      each.setAttribute("role", "none");
  };
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
});
</script>"""
# Streamlit fills a page after it was opened, draws it anew in its place, and tells nobody: who does
# not see it hears nothing, and a control that is gone after it was used leaves the focus nowhere.
# What is shown now is said, and the title gets that focus.
_TOLD_SCRIPT: Final = b"""<script>
addEventListener("DOMContentLoaded", () => {
  const parts = ['[data-testid="stMain"] h1', ".st-key-scope", ".st-key-newer-data"];
  const status = document.createElement("div");
  status.setAttribute("role", "status");
  status.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden";
  document.body.append(status);
  let held, settled;
  addEventListener("focusin", (event) => { held = event.target; });
  const tell = () => {
    const [title, ...rest] = parts.map((each) => document.querySelector(each));
    if (!title) return;
    const shown = [title, ...rest.filter((each) => each)];
    const now = shown.map((each) => each.innerText.trim()).join(". ");
    if (status.textContent !== now) status.textContent = now;
    if (!held || held.isConnected || document.activeElement !== document.body) return;
    // a table that fills the screen, or no longer, has its buttons made anew over the page
    if (held.matches('[data-testid="stBaseButton-elementToolbar"]')) return;
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  };
  new MutationObserver(() => {
    clearTimeout(settled);
    settled = setTimeout(tell, 400);
  }).observe(document.getElementById("root"), {
    childList: true, subtree: true, characterData: true,
  });
});
</script>"""
_HEAD: Final = b"<head>"
_HEAD_END: Final = b"</head>"
# What holds for every answer. An address names teams and jobs: no other site is told it.
_SAFE: Final = {
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
}
_PRELOADS: Final = assets.preloads()
_SCRIPTS: Final = _ROOT_SCRIPT + _HISTORY_SCRIPT + _PRINT_SCRIPT + _ROLES_SCRIPT + _TOLD_SCRIPT


class Confined:
    """ASGI middleware: index pages know their server's root, and may load from nowhere else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_SAFE)
            await send(message)

        if "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send_safe)
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
            page = body.replace(_HEAD, _HEAD + _SCRIPTS, 1)
            page = page.replace(_HEAD_END, _PRELOADS + _HEAD_END, 1)
            headers = MutableHeaders(scope=start)
            headers["content-length"] = str(len(page))
            headers["content-security-policy"] = _policy(host)
            await send_safe(start)
            await send_safe({"type": "http.response.body", "body": page})

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
        "frame-ancestors": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


sign_in.readers()  # settings that cannot be read stop the server, not only a page
app = st.App(
    Path(__file__).with_name("main.py"),
    middleware=[Middleware(Confined), Middleware(assets.Remembered)],
)
