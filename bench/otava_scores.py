"""Run by an interpreter that has apache-otava: python otava_scores.py DAYS.npy SCORES.npy FIRST.

A score is minus the log of the smallest p of a rise whose change point lies in the last 14 days.
"""

from __future__ import annotations

import sys

import numpy as np
from otava.analysis import compute_change_points

_DAYS = 90
_RECENT = 14
_LOOSEST = 0.05


def main() -> None:
    days, first = np.load(sys.argv[1]), int(sys.argv[3])
    scores = np.full(days.shape, np.nan)
    for row, series in enumerate(days):
        for day in range(first, len(series)):
            scores[row, day] = _score(series[max(0, day - _DAYS + 1) : day + 1])
    np.save(sys.argv[2], scores)


def _score(logs: np.ndarray) -> float:
    weekday = np.arange(len(logs)) % 7
    means = np.array([np.nanmean(logs[weekday == place]) for place in range(7)])
    left = logs - means[weekday] + np.nanmean(logs)
    told = np.flatnonzero(~np.isnan(left))
    points, _ = compute_change_points(list(left[told]), max_pvalue=_LOOSEST)
    rises = [
        point.stats.pvalue
        for point in points
        if told[point.index] >= len(logs) - _RECENT and point.stats.mean_2 > point.stats.mean_1
    ]
    return -float(np.log(max(min(rises), 1e-300))) if rises else 0.0


if __name__ == "__main__":
    main()
