"""How large a change is: what was expected, what came, what could have been seen.

Numbers only; words are in `sentence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from queries.detection import method, thresholds
from queries.detection.episodes import Episode, History, View
from queries.detection.metrics import Kind, metric
from queries.detection.mix import Floats
from queries.detection.series import Panel

BEFORE_DAYS = 28
_DAY_SECONDS = 86_400
_PER_1000_GPU_DAYS = 1000.0 * _DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of a series from its onset to its last day, in the terms in which it is shown.

    `observed` is a typical (geometric mean) latency, a ratio, or a rate per 1,000 GPU-days;
    `expected` what the same work would have shown by the baseline. `change` is relative.
    """

    observed: float
    expected: float
    change: float
    told_before: float
    told_after: float


@dataclass(frozen=True, slots=True)
class Points:
    """Days of a series in the terms in which it is shown; nan where there is no value."""

    told: Floats
    observed: Floats
    expected: Floats
    low: Floats
    high: Floats


def effect(told: History, name: str, episode: Episode) -> Effect:
    """Over all days of the episode, by the baseline that it was found with."""
    panel = told.panel
    days = changed_days(told, episode)
    seen = told.view(episode.row, episode.found)
    ratio = factor(panel, episode.row, days, seen)
    exposure = _sum(panel.told_exposure[episode.row, days])
    total = _sum(panel.told_total[episode.row, days])
    shown = _shown(name, total / max(exposure, 1e-12))
    if panel.is_rate and not total:  # of nothing there is no multiple
        expected = _shown(name, _usual(panel, episode.row, days, seen) / max(exposure, 1e-12))
    else:
        expected = _scaled(name, shown, 1 / ratio)
    before = before_days(told, episode)
    return Effect(
        shown,
        expected,
        shown / expected - 1 if expected else np.inf,
        _sum(panel.told_rows[episode.row, before]),
        _sum(panel.told_rows[episode.row, days]),
    )


def changed_days(told: History, episode: Episode) -> slice:
    """The days of an episode, from its onset on."""
    last = told.panel.days - 1 if episode.last is None else episode.last
    return slice(episode.onset, last + 1)


def before_days(told: History, episode: Episode) -> slice:
    """The days before an episode that it is held beside."""
    return slice(told.usual_from(episode, BEFORE_DAYS), episode.onset)


def factor(panel: Panel, row: int, days: slice, seen: View) -> float:
    """By how much the days are higher than expected."""
    weight = panel.weight[row, days]
    if panel.is_rate:
        return float(
            max(panel.value[row, days][weight > 0].sum(), 1e-12)
            / max(_usual(panel, row, days, seen), 1e-12)
        )
    expected = seen.scores.expected[0, days]
    precision = seen.scores.precision[0, days]
    left = np.where(weight > 0, panel.value[row, days] - expected, 0.0)
    told = weight > 0
    if not told.any():
        return 1.0
    # one day out of place must not size the others; two say that it got worse, or better, meanwhile
    least, most = _but_one(left[told])
    spread = method.CLIP / np.sqrt(np.where(told, precision, np.inf))
    cut = np.clip(left, least - spread, most + spread)
    return float(np.exp((cut * precision).sum() / precision.sum()))


def _usual(panel: Panel, row: int, days: slice, seen: View) -> float:
    """What was expected of the days of a rate, together."""
    return _sum(seen.scores.expected[0, days][panel.weight[row, days] > 0])


def _but_one(values: Floats) -> tuple[float, float]:
    """The least and the most of all values but one at either end; of one or two their middle."""
    if len(values) < 3:
        return float(np.median(values)), float(np.median(values))
    in_order = np.sort(values)
    return float(in_order[1]), float(in_order[-2])


def points(told: History, name: str, rows: list[int], found: int, days: slice) -> Iterator[Points]:
    """Series of a measure, each with the band that usual days leave once in twenty."""
    seen = told.views([(row, found) for row in rows])
    for place, row in enumerate(rows):
        yield _points(told.panel, name, row, seen, place, days)


def _points(panel: Panel, name: str, row: int, seen: View, place: int, days: slice) -> Points:
    exposure = np.where(panel.weight[row, days] > 0, panel.told_exposure[row, days], 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        exposure = np.where(exposure > 0, exposure, np.nan)
        mean = panel.told_total[row, days] / exposure
        expected = seen.scores.expected[place, days]
        if panel.is_rate:
            unit, scale = float(seen.baseline.unit[place]), float(seen.baseline.scale[place])
            sides = _usual_rates(expected, exposure, unit, scale)
        else:
            middle = mean - (panel.value[row, days] - expected)
            spread = 2 / np.sqrt(seen.scores.precision[place, days])
            sides = [middle - spread, middle, middle + spread]
    shown = [_shown(name, each) for each in sides]
    return Points(
        np.where(np.isnan(exposure), 0.0, panel.told_rows[row, days]),
        _shown(name, mean),
        shown[1],
        np.minimum(shown[0], shown[2]),
        np.maximum(shown[0], shown[2]),
    )


def smallest(told: History) -> Floats:
    """Of each series the relative change that it would show within 14 days in four cases of five.

    As it was over its last weeks; nan where it cannot be judged, or could show none that can be.
    """
    recent = slice(max(0, told.panel.days - BEFORE_DAYS), told.panel.days)
    return _smallest(told.panel, range(len(told.panel.keys)), told.newest(), recent)


def smallest_before(told: History, episode: Episode) -> float:
    """The same of the series of an episode, as it was over the weeks before its onset."""
    seen = told.view(episode.row, episode.found)
    before = before_days(told, episode)
    return float(_smallest(told.panel, [episode.row], seen, before)[0])


def _smallest(panel: Panel, rows: Sequence[int], seen: View, recent: slice) -> Floats:
    """Of the series `rows`, which `seen` holds one after the other."""
    precision = np.where(
        seen.scores.precision[:, recent] > 0, seen.scores.precision[:, recent], np.nan
    )
    some = (~np.isnan(precision)).sum(1)
    typical = np.full(len(some), np.nan)
    typical[some > 0] = np.nanmedian(precision[some > 0], axis=1)
    learnt = seen.baseline
    limits = thresholds.limits(panel.is_rate, learnt.volume)
    shift = limits.shift * np.sqrt(precision.shape[1] / np.maximum(some, 1))
    found = (
        _smallest_rates(panel, rows, recent, typical, shift, learnt.scale)
        if panel.is_rate
        else (np.expm1(shift / np.sqrt(typical)))
    )
    return np.where(learnt.is_ready, found, np.nan)


def _smallest_rates(
    panel: Panel,
    rows: Sequence[int],
    recent: slice,
    typical: Floats,
    shift: Floats,
    scale: Floats,
) -> Floats:
    events = typical * scale**2
    ratio = ((np.sqrt(events + 0.375) + shift * scale / 2) ** 2 - 0.375) / np.maximum(events, 1e-12)
    return np.array(
        [_change(panel, row, recent, float(each)) for row, each in zip(rows, ratio, strict=True)]
    )


def _usual_rates(expected: Floats, exposure: Floats, unit: float, scale: float) -> list[Floats]:
    """Low, expected and high share of the exposure that was told."""
    root = np.sqrt(expected / unit + 0.375)
    low, high = (
        np.maximum(np.maximum(root + side, 0.0) ** 2 - 0.375, 0.0) * unit
        for side in (-scale, scale)
    )
    return [low / exposure, expected / exposure, high / exposure]


def _change(panel: Panel, row: int, days: slice, ratio: float) -> float:
    """The relative change of what is shown where what fell on the exposure is `ratio` as much; nan
    where more would fall on it than there is.
    """
    name = panel.keys[row][1]
    exposure = _sum(panel.told_exposure[row, days])
    mean = _sum(panel.told_total[row, days]) / max(exposure, 1e-12)
    if name.endswith("_ratio") and mean * ratio > 1:
        return np.nan
    shown = _shown(name, mean)
    return _scaled(name, shown, ratio) / shown - 1 if shown else ratio - 1


def _shown(name: str, mean: Any) -> Any:
    if metric(name).kind is Kind.LATENCY:
        return np.exp(mean)
    if name == "ett_ratio":
        return 1 - mean
    return mean * _PER_1000_GPU_DAYS if name.startswith("failures") else mean


def _scaled(name: str, shown: float, factor: float) -> float:
    """What is shown where what it is made of is so many times as large."""
    return 1 - (1 - shown) * factor if name == "ett_ratio" else shown * factor


def _sum(values: Floats) -> float:
    return float(values.sum())
