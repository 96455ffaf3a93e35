"""What `ett.toml` may hold, for all who read a part of it: a name that nobody reads stops each.

A misspelt `[auth]` would else let everybody in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

SETTINGS: Final = frozenset({
    "timezone", "stale_after_hours", "targets", "exclude", "identity", "failure_rule",
    "training_log", "price", "regressions", "unpacked_ratio", "storage", "publish_every",
    "alerts",  # read by `python -m deploy` and the dashboard
    "auth",  # read by the dashboard
})  # fmt: skip


def unknown_setting(names: Iterable[str]) -> str | None:
    """Why one of these names cannot stand in `ett.toml`; None: each is a setting."""
    unknown = sorted(set(names) - SETTINGS)
    return f"{unknown[0]!r} is no setting. Known: {sorted(SETTINGS)}." if unknown else None
