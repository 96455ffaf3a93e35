"""Whether the engine says that a file of its own is no longer what was written to it."""

from __future__ import annotations

from typing import Final

import duckdb

_CUT_OFF: Final = ("not a valid DuckDB database file", "Could not read enough bytes")


def is_damage(error: Exception) -> bool:
    """Whether a DuckDB file is damaged; of one that is gone, locked or full it says nothing."""
    # a block whose checksum does not hold has no class of its own
    if type(error) is duckdb.Error:
        return True
    return isinstance(error, duckdb.IOException) and any(why in str(error) for why in _CUT_OFF)
