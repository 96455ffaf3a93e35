"""A fault of a reader at one dump: named for whoever mends it, and never the end of the others."""

from __future__ import annotations

import traceback
from pathlib import Path

import polars as pl

from ingest.collectors.base import Collector

# What a reader may raise at lines that nobody foresaw. A disk, memory or an interrupt is none.
FAULTS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError, pl.exceptions.PolarsError,
)  # fmt: skip

_FOLDER = Path(__file__).parent


def fault(name: str, collector: Collector, error: BaseException) -> str:
    """What failed and where, for whoever mends it."""
    *_, place = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_FOLDER)
    ]
    why = f"{type(error).__name__}: {error}"[:200]
    return f"{name} makes the reader of {collector.name} fail at {place} ({why}): please report it"
