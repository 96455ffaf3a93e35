"""What ETT_CONFIG names; an empty one names nothing."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.errors import UnusableArguments


def config() -> Path:
    """The file of settings, which need not be there unless it is named, or a link to it is there.
    Raises UnusableArguments.
    """
    named = os.environ.get("ETT_CONFIG")
    if named and not Path(named).exists():
        raise UnusableArguments(f"ETT_CONFIG names {named}, which does not exist.")
    place = Path(named or "ett.toml")
    if place.is_symlink() and not place.exists():  # who made it has settings, somewhere
        raise UnusableArguments(
            f"{place} is a link that leads nowhere. Mend it, or remove it for the defaults."
        )
    return place
