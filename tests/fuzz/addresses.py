"""Addresses of the dashboard that nobody would send: no page raises, whatever they ask for."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.app import serving
from tests.app.opening import PAGES, open_page
from tests.fuzz.accidents import STRANGE

_MORE = ("views/regressions.py", "views/runbook.py")
_NAMES = (
    *("team", "days", "vs", "workload", "weight", "area", "metric", "day", "job", "attempt"),
    *("alert", "wait", "aligned", "by", "domain", "category", "cause", "state", "search", "page"),
)
_VALUES = (
    *("", "0", "1", "-1", "28", "7.0", "1e9", "99999999999999999999", "nan", "null", "true", "all"),
    *("fleet", "feed", "ranking", "unsaved", "stubborn", "2026-03-03", "2026-02-30", "0001-01-01"),
    *("9999-12-31", "tts_p50_seconds", "../../etc/passwd", "%2e%2e", "x" * 5_000, "\u0641", "\0"),
    *("\U0001f680", "a&b=c#d", "'; drop table attempts; --", "<script>alert(1)</script>", "[]"),
)


@contextmanager
def published_fleet() -> Iterator[None]:
    """A small published fleet that the pages read."""
    with tempfile.TemporaryDirectory() as folder:
        serving.publish(Path(folder), serving.fleet(teams=("ranking", "feed"), days=5))
        before = os.environ.get("ETT_WAREHOUSE")
        os.environ["ETT_WAREHOUSE"] = folder
        try:
            yield
        finally:
            os.environ.pop("ETT_WAREHOUSE")
            if before is not None:
                os.environ["ETT_WAREHOUSE"] = before


def open_some_page(rng: random.Random) -> None:
    """Open a page with a few parameters; fails where it raises."""
    values = [rng.choice((*_VALUES, rng.choice(STRANGE).decode("latin-1"))) for _ in range(4)]
    names = rng.sample(_NAMES, k=rng.randint(1, 4))
    open_page(rng.choice((*PAGES, *_MORE)), **dict(zip(names, values, strict=False)))
