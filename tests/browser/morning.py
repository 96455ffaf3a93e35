"""The dashboard as it looks on the morning after the pictured fleet's last day, whenever that is:
streamlit runs this in place of `app/server.py`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from app import parts, server

LAST_DAY = date(2026, 3, 31)
MORNING = datetime.combine(LAST_DAY.replace(month=4, day=1), time(7, 30), UTC)

_header = parts.header


def _header_then(title: str, question: str, now: datetime, **settings: Any) -> None:
    _header(title, question, MORNING, **settings)


parts.header = _header_then
# spelled out: streamlit looks for it in the text of this file
app = st.App(Path(server.__file__).with_name("main.py"), middleware=[Middleware(server.Confined)])
