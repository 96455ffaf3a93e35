"""Methods on single series: how often each alarms for nothing, and what it finds how late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bench import alarms, all_knowing, rivals
from bench.series_fleets import Floats, Step, World, daily_figures
from queries.detection import cusum, thresholds
from queries.detection.episodes import history
from queries.detection.series import Panel

SEED = 77_000_000  # calibration never saw it
WARM_DAYS = cusum.BEFORE_DAYS
FIRST_DAY = WARM_DAYS + 28
TIERS = (5.0, 20.0, 100.0)
_KNOWN_DAYS = 60  # nothing has to be learnt
_POINTS = ((20.0, 1.2), (20.0, 1.5), (100.0, 1.1), (100.0, 1.2))


@dataclass(frozen=True, slots=True)
class _Method:
    name: str
    scores: Callable[[Panel, Floats], Floats | None]
    series: int | None = None  # fewer where one is slow
    limit: float | None = None  # None: set here, on the no-change series that it is counted on


def method_only(panel: Panel) -> Floats:
    """At each day the sums over the limits that alarm once a series-year."""
    sums = alarms.sums(panel)
    limits = thresholds.limits(panel.is_rate, sums.volume)
    return np.maximum(sums.slow / limits.method_slow, sums.fast / limits.method_fast)


def _opened(panel: Panel) -> Floats:
    sums = alarms.sums(panel)
    limits = thresholds.limits(panel.is_rate, sums.volume)
    return np.maximum(sums.slow / limits.slow, sums.fast / limits.fast)


_OURS = "ours, method alone"
_METHODS = (
    _Method(_OURS, lambda panel, logs: method_only(panel), limit=1.0),
    _Method("ours, as it opens", lambda panel, logs: _opened(panel), limit=1.0),
    _Method("CUSUM on daily figures", lambda panel, logs: rivals.cusum_of_days(logs)),
    _Method("Welch 7 v 28", lambda panel, logs: rivals.welch(logs)),
    _Method("E-divisive (Otava)", lambda panel, logs: rivals.divisive(logs, WARM_DAYS), series=60),
    _Method("percent over mean", lambda panel, logs: rivals.percent_over_mean(logs)),
)


def compare(series: int) -> None:
    """Print the table of methods, and below it when ours says that a change began."""
    print(f"\nrecall within 14 days (median delay in days), {series} series a point")
    print("others: at 1 false alarm per series-year; ours: at the committed thresholds")
    heads = [f"{per_day:g}/day +{ratio - 1:.0%}" for per_day, ratio in _POINTS]
    print(f"{'':24}" + "".join(f"{head:>15}" for head in heads))
    for method in _METHODS:
        print(f"{method.name:24}" + _row(method, min(series, method.series or series)), flush=True)
    _all_knowing(series)
    _false_alarms(series)


def _all_knowing(series: int) -> None:
    told = [
        all_knowing.reach(SEED, series, _KNOWN_DAYS, _KNOWN_DAYS + 28, *point) for point in _POINTS
    ]
    cells = [f"{share:.2f} ({delay:.0f})" for share, delay, _ in told]
    print(f"{'who knows all but when':24}" + "".join(f"{cell:>15}" for cell in cells))
    near = [f"{share:.2f}" for _, _, share in told]
    print(f"{'  first day within 2':24}" + "".join(f"{cell:>15}" for cell in near), flush=True)


def _row(method: _Method, series: int) -> str:
    limits: dict[float, float] = {}
    for per_day in {point[0] for point in _POINTS}:
        limit = method.limit
        if limit is None:
            quiet = _scores(method, series, per_day, None)
            if quiet is None:
                return "  not measured: name an interpreter with apache-otava in OTAVA_PYTHON"
            limit = alarms.limit_for(quiet, 1.0)
        limits[per_day] = limit
    cells = []
    for per_day, ratio in _POINTS:
        scores = _scores(method, series, per_day, Step(FIRST_DAY, ratio))
        assert scores is not None
        share, delay = alarms.recall(scores, limits[per_day], FIRST_DAY)
        cells.append(f"{share:.2f} ({delay:.0f})")
    few = "" if method.series is None else f"   of {series} series"
    return "".join(f"{cell:>15}" for cell in cells) + few


def _false_alarms(series: int) -> None:
    """Of both kinds of our limits, on series without a change; and the first days that it says."""
    print("\nours on single series: false alarms a series-year (95 %)")
    for method in _METHODS[:2]:
        for per_day in TIERS:
            quiet = _scores(method, 2 * series, per_day, None)
            assert quiet is not None
            print(f"{method.name:24}{per_day:5g}/day: " + rate(*_counted(quiet)), flush=True)
    print("\nours, method alone: share of what is found whose first day is told within 2 days")
    for per_day, ratio in _POINTS:
        apart = _days_apart(min(series, 400), per_day, Step(FIRST_DAY, ratio))
        near = np.mean(np.abs(apart) <= 2)
        print(f"{per_day:5g}/day +{ratio - 1:.0%}: {near:.2f} of {len(apart)}", flush=True)


def _counted(quiet: Floats) -> tuple[int, float]:
    return int(alarms.begun(quiet, 1.0).sum()), float((~np.isnan(quiet)).sum() / 365)


def rate(count: int, years: float) -> str:
    """A count of events over years, as a rate with its Poisson interval."""
    low, high = alarms.poisson_interval(count)
    return (
        f"{count / years:.2f} ({low / years:.2f}-{high / years:.2f}), {count} in {years:,.0f} years"
    )


def _days_apart(series: int, per_day: float, step: Step) -> Floats:
    panel, _ = _drawn(series, per_day, step)
    over = np.nan_to_num(method_only(panel)[:, FIRST_DAY:]) > 1
    told = history(panel)
    found = np.flatnonzero(over.any(1))
    return np.array(
        [
            told.traced(int(row), FIRST_DAY + int(over[row].argmax())).onset - FIRST_DAY
            for row in found
        ],
        dtype=float,
    )


def _scores(method: _Method, series: int, per_day: float, step: Step | None) -> Floats | None:
    scores = method.scores(*_drawn(series, per_day, step))
    if scores is None:
        return None
    scores = scores.copy()
    scores[:, :WARM_DAYS] = np.nan
    return scores


def _drawn(series: int, per_day: float, step: Step | None) -> tuple[Panel, Floats]:
    days = WARM_DAYS + 365 if step is None else FIRST_DAY + alarms.WITHIN_DAYS
    seed = SEED + int(per_day) + (0 if step is None else int(1000 * step.ratio))
    return daily_figures(seed, series, days, per_day, World(), step)
