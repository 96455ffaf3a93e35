"""How often a score alarms where nothing happened, and how often it does where something did."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from queries.detection import cusum
from queries.detection.series import Panel

Floats = NDArray[np.float64]

REST_DAYS = 7
WITHIN_DAYS = 14


def sums(panel: Panel, since: int = 0) -> cusum.Sums:
    """The detector's sums of all series, from a day on."""
    return cusum.sums(panel, np.full(len(panel.keys), since, np.int64))


def begun(scores: Floats, limit: float) -> NDArray[np.bool_]:
    """Where an alarm begins: above the limit, after a week below it."""
    over = np.nan_to_num(scores, nan=-np.inf) > limit
    earlier = np.cumsum(np.pad(over, ((0, 0), (REST_DAYS + 1, 0))), axis=1)
    recent: NDArray[np.int64] = earlier[:, REST_DAYS:-1] - earlier[:, : -REST_DAYS - 1]
    return np.asarray(over & (recent == 0))


def limit_for(scores: Floats, per_year: float) -> float:
    """The limit at which a series without changes alarms so often a year."""
    years = (~np.isnan(scores)).sum() / 365
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    for _ in range(40):
        middle = (low + high) / 2
        if begun(scores, middle).sum() / years > per_year:
            low = middle
        else:
            high = middle
    return high


def recall(scores: Floats, limit: float, first: int) -> tuple[float, float]:
    """Share of series that alarm within 14 days from `first` on, and the middle of their delays."""
    over = np.nan_to_num(scores[:, first : first + WITHIN_DAYS], nan=-np.inf) > limit
    hit = over.any(1)
    delays = over[hit].argmax(1)
    return float(hit.mean()), float(np.median(delays)) if len(delays) else float("nan")


def poisson_interval(count: int) -> tuple[float, float]:
    """95 % for the mean of a Poisson count (Byar's approximation)."""
    low = 0.0 if count == 0 else count * (1 - 1 / (9 * count) - 1.96 / (3 * count**0.5)) ** 3
    above = count + 1
    return low, above * (1 - 1 / (9 * above) + 1.96 / (3 * above**0.5)) ** 3
