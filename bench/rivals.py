"""What others do with the same days: scores of the usual rules, higher meaning more alarmed.

Each gets the log of the day's mean, as a dashboard shows it, nan where a day is missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from bench.series_fleets import Floats

_SCRIPT = Path(__file__).with_name("otava_scores.py")


def percent_over_mean(logs: Floats) -> Floats:
    """The day over the mean of the 28 days before it."""
    return np.exp(logs) / _mean(_trailing(np.exp(logs), 28, 0)) - 1


def welch(logs: Floats) -> Floats:
    """Welch's t of the last 7 days against the 28 before them."""
    recent, earlier = _trailing(logs, 7, -1), _trailing(logs, 28, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # days without any value
        few = np.minimum((~np.isnan(recent)).sum(2), (~np.isnan(earlier)).sum(2)) < 3
        spread = _variance(recent) + _variance(earlier)
        score = (np.nanmean(recent, 2) - np.nanmean(earlier, 2)) / np.sqrt(spread)
    return np.where(few, np.nan, score)


def cusum_of_days(logs: Floats) -> Floats:
    """CUSUM (k 0.5, z cut at 3) over 21 days of deseasoned logs; 42 days of baseline, lag 21."""
    earlier = _trailing(logs, 42, 21)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        level = np.nanmedian(earlier, 2)
        by_weekday = np.stack(
            [np.nanmean(earlier[:, :, place::7], axis=2) for place in range(7)], axis=2
        )
        weekday = by_weekday - np.nanmean(by_weekday, axis=2, keepdims=True)
        left = earlier - level[:, :, None] - np.tile(weekday, 6)
        spread = 1.4826 * np.nanmedian(np.abs(left), 2)
    spread = np.where(spread > 0, spread, np.nan)
    total = np.zeros(logs.shape)
    for back in range(20, -1, -1):
        day = np.roll(logs, back, axis=1)
        # the window of 42 begins on the weekday of the day itself, three weeks on
        z = (day - level - weekday[:, :, (-back) % 7]) / spread
        z[:, :back] = np.nan
        total = np.maximum(0.0, total + np.nan_to_num(np.clip(z, -3, 3) - 0.5, nan=0.0))
    return np.where(np.isfinite(spread), total, np.nan)


def divisive(logs: Floats, first: int) -> Floats | None:
    """E-divisive of Apache Otava over the trailing 90 days, from day `first` on.

    None unless OTAVA_PYTHON names an interpreter that has apache-otava: it pins another numpy.
    """
    interpreter = os.environ.get("OTAVA_PYTHON")
    if interpreter is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        days, scores = Path(folder) / "days.npy", Path(folder) / "scores.npy"
        np.save(days, logs)
        subprocess.run([interpreter, _SCRIPT, days, scores, str(first)], check=True)
        return np.asarray(np.load(scores))


def _trailing(values: Floats, length: int, lag: int) -> Floats:
    """Of each day the window [day - lag - length, day - lag), [series, day, length]."""
    before = np.full((len(values), length + max(lag, 0)), np.nan)
    padded = np.concatenate([before, values], axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, length, axis=1)
    begin = 0 if lag >= 0 else -lag
    return windows[:, begin : begin + values.shape[1]]


def _mean(windows: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanmean(windows, axis=2))


def _variance(windows: Floats) -> Floats:
    told = (~np.isnan(windows)).sum(2)
    return np.asarray(np.nanvar(windows, axis=2, ddof=1) / np.maximum(told, 1))


if __name__ == "__main__":
    sys.exit("no command: see bench.detection")
