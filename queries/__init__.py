"""Events to numbers: the SQL of this folder, in layers, and the file that readers may open.

Knows nothing of dumps and nothing of pages.
"""

from __future__ import annotations

from queries.model import AREAS, STARTUP_AREAS
from queries.published import (
    SCHEMA_VERSION,
    NothingPublished,
    PublishedByNewerRelease,
    published,
)

__all__ = [
    "AREAS",
    "SCHEMA_VERSION",
    "STARTUP_AREAS",
    "NothingPublished",
    "PublishedByNewerRelease",
    "published",
]
