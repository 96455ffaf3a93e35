"""What arguments of several commands may be."""

from __future__ import annotations

import argparse
import math
from datetime import date


def day(text: str) -> date:
    """A day of the calendar."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write it as 2026-01-01") from None


def seconds(text: str) -> float:
    """A length of time; never NaN, for which nobody would ever have waited long enough."""
    try:
        told = float(text)
    except ValueError:
        told = -1
    if not 0 <= told < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return told
