"""The dashboard's door, where `[auth]` of `ett.toml` asks for one: sign in, or nothing is shown.

Reads nothing of the warehouse. Settings are read once, when the server starts.
"""

from __future__ import annotations

import os
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from app import words
from app.readers import Readers, Verdict, judged, read_readers

_WHY: Final = {
    Verdict.UNKNOWN: "This dashboard is for readers who have signed in.",
    Verdict.EXPIRED: "You signed in more than a day ago. Sign in again to go on.",
    Verdict.UNCONFIRMED: "Your provider has not confirmed your mail address, so it opens nothing "
    "here.",
    Verdict.STRANGER: "You are signed in, but this dashboard is not open to you. Ask those who run "
    "it.",
}


_LEAVING = "is_signing_out"


def readers() -> Readers | None:
    """Who may read; None: whoever reaches the server. Raises UnusableAuth."""
    return _read(os.environ.get("ETT_CONFIG") or "ett.toml")


def verdict(now: datetime) -> Verdict:
    """Whether this session may read. `now` is aware."""
    known = readers()
    return Verdict.WELCOME if known is None else judged(known, st.user.to_dict(), now)


def door(found: Verdict) -> None:
    """The whole page of one who may not read: why not, and what to do."""
    if st.session_state.get(_LEAVING):  # the browser still holds what says who it is
        st.title("Signing out")
        st.markdown("This takes a moment. If it does not end, reload the page and try again.")
        return
    st.title("Sign in" if found in (Verdict.UNKNOWN, Verdict.EXPIRED) else "No access")
    st.markdown(_WHY[found])
    if found in (Verdict.UNKNOWN, Verdict.EXPIRED):
        st.button("Sign in", type="primary", icon=":material/login:", on_click=st.login)
    else:
        st.caption(f"Signed in as {words.code(_name(), 256)}")
        st.button("Sign out", icon=":material/logout:", on_click=_sign_out)


def account() -> None:
    """Who is signed in, and the way out, in the sidebar; nothing where nobody signs in."""
    if readers() is None:
        return
    with st.sidebar.container(gap=None):
        st.caption(f"Signed in as {words.code(_name(), 256)}")
        st.button("Sign out", type="tertiary", icon=":material/logout:", on_click=_sign_out)


def _sign_out() -> None:
    """Leave, in this session until the browser's answer begins another."""
    st.session_state[_LEAVING] = True
    st.logout()


def _name() -> str:
    told = st.user.to_dict()
    return str(told.get("email") or told.get("name") or told.get("sub") or "someone")


@cache
def _read(path: str) -> Readers | None:
    return read_readers(Path(path))
