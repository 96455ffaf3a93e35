"""The areas of one attempt from its row of `attempts`, as `area_by_attempt` lists them.

That view cannot be asked for one attempt without reading all; a row can, by when it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from app.palette import AREA_ORDER


def areas_of(attempt: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of area, is_recovery, amount (seconds), in lifecycle order; only what took time.

    `attempt`: `<area>_seconds` and `<area>_recovery_us` as the view `attempts` has them.
    """
    rows = []
    for area in AREA_ORDER:
        recovery = int(attempt.get(f"{area}_recovery_us") or 0) / 1e6
        rows.append((area, False, (attempt[f"{area}_seconds"] or 0.0) - recovery))
        rows.append((area, True, recovery))
    return pl.DataFrame(
        [row for row in rows if row[2] > 0],
        schema={"area": pl.String, "is_recovery": pl.Boolean, "amount": pl.Float64},
        orient="row",
    )
