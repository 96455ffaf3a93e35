"""What ETT_CONFIG names; an empty one names nothing."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.errors import UnusableArguments


def config() -> Path:
    """The file of settings, which need not be there unless it is named. Raises
    UnusableArguments.
    """
    named = os.environ.get("ETT_CONFIG")
    if named and not Path(named).exists():
        raise UnusableArguments(f"ETT_CONFIG names {named}, which does not exist.")
    return Path(named or "ett.toml")
