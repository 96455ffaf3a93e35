"""What a change costs a day: summed by class of work, since what got slower may be small or large.

A class is a size, of the fleet one of each team; those that tell too little are one together. By
how much one moved is told by few observations, so it is read beside the others: it did not move at
all, or by about as much as those that did (a spike and a slab; their parts and the width of the
slab are told by all classes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from queries.detection import method
from queries.detection.effects import before_days, changed_days, factor
from queries.detection.episodes import Episode, History, View, least_told
from queries.detection.mix import Floats, Ints
from queries.detection.series import ByClass

_ROUNDS = 30
_SURE = 50.0  # logs of odds: more is the same
_PRIOR_EVENTS = 10.0  # of what a class tells beside what its workload and size tell
_LEAST_EVENTS = 0.5  # of none there is no log


def lost_gpu_seconds_per_day(told: History, episode: Episode) -> float:
    """GPU-seconds a day that the days of an episode took over what was expected.

    Of each class its GPU-seconds times 1 - 1 / the factor that it moved by. What other classes won
    meanwhile is not set against it.
    """
    days = changed_days(told, episode)
    work = told.panel.by_class(episode.row)
    spent = work.gpu_seconds[:, days].sum(1)
    saved = -np.expm1(-_moved(told, episode, work))
    return float((spent * np.maximum(saved, 0.0)).sum() / (days.stop - days.start))


def _moved(told: History, episode: Episode, work: ByClass) -> Floats:
    """The log of the factor of each class; of one that did not run before, that of the whole."""
    seen = told.view(episode.row, episode.found)
    before, after = before_days(told, episode), changed_days(told, episode)
    whole = float(np.log(factor(told.panel, episode.row, after, seen)))
    moved = np.full(len(work.weight), whole)
    ran = np.flatnonzero((work.weight[:, before] > 0).any(1) & (work.weight[:, after] > 0).any(1))
    share = work.weight[ran][:, after].sum(1) / max(work.weight[:, after].sum(), 1e-12)
    group = _grouped(share * episode.told >= least_told(told.panel))
    if group.max(initial=0) > 0:
        steps = _steps_of_rates if told.panel.is_rate else _steps_of_levels
        usual, changed = (work.at(ran, days).grouped(group) for days in (before, after))
        moved[ran] = steps(usual, changed, before, after, seen, whole)[group]
    return moved


def _grouped(tells: NDArray[np.bool_]) -> Ints:
    """The number of each class; those that tell too little by themselves share one."""
    first = 0 if tells.all() else 1
    return np.where(tells, np.cumsum(tells) - 1 + first, 0)


def _steps_of_levels(
    usual: ByClass, changed: ByClass, before: slice, after: slice, seen: View, whole: float
) -> Floats:
    """By how much more each class lies over what is expected of all than it did before."""
    first, first_variance = _over(usual, seen.scores.expected[0, before], seen)
    last, last_variance = _over(changed, seen.scores.expected[0, after], seen)
    step = last - (first - np.average(first, weights=usual.weight.sum(1)))
    variance = last_variance + first_variance
    common, differ, moving = whole, 0.0, 0.5
    for _ in range(_ROUNDS):
        wide = differ + variance
        speaks = (step**2 / variance - (step - common) ** 2 / wide + np.log(variance / wide)) / 2
        likely = _likely(speaks, moving)
        moving = _share(likely)
        common = float(np.average(step, weights=likely / wide))
        differ = _variance_between(step[likely > 0.5], variance[likely > 0.5])
    return likely * (common + (step - common) * differ / (differ + variance))


def _over(work: ByClass, expected: Floats, seen: View) -> tuple[Floats, Floats]:
    """The mean of each class over what is expected of all, and the variance of that."""
    is_told = work.weight > 0
    n = np.where(is_told, work.weight, 1.0)
    over = np.where(is_told, work.left / n - expected, np.nan)
    variance = seen.baseline.day_variance[0] + seen.baseline.job_variance[0] / n
    # one day out of place must not size the others
    middle = np.nanmedian(over, axis=1, keepdims=True)
    spread = method.CLIP * np.sqrt(variance)
    share = work.weight / work.weight.sum(1, keepdims=True)
    cut = np.where(is_told, np.clip(over, middle - spread, middle + spread), 0.0)
    return (share * cut).sum(1), (share**2 * variance).sum(1)


def _steps_of_rates(
    usual: ByClass, changed: ByClass, before: slice, after: slice, seen: View, whole: float
) -> Floats:
    """The same of the number of events, which are too few for logs."""
    usual_events, usual_expected = _events(usual, seen.scores.expected[0, before], seen)
    events, even = _events(changed, seen.scores.expected[0, after], seen)
    expected = even * (usual_events + _PRIOR_EVENTS) / (usual_expected + _PRIOR_EVENTS)
    expected *= even.sum() / expected.sum()
    # what is expected is itself told by events
    spread = seen.baseline.scale[0] ** 2 * (1 + expected / (usual_expected + _PRIOR_EVENTS))
    common, differ, moving = whole, 0.0, 0.5
    for _ in range(_ROUNDS):
        mean = expected * np.exp(common)
        ratio = (events * differ + 1) / (mean * differ + 1) * np.exp(common)
        variance = spread / mean
        speaks = (events * np.log(ratio) - expected * (ratio - 1)) / spread
        likely = _likely(speaks + np.log(variance / (differ + variance)) / 2, moving)
        moving = _share(likely)
        # all of them may have fallen on classes that did not run before
        fell = max((likely * events).sum(), _LEAST_EVENTS)
        common = float(np.log(fell / (likely * expected).sum()))
        differ = _variance_between((events / mean - 1)[likely > 0.5], variance[likely > 0.5])
    return np.asarray(likely * np.log(ratio))


def _events(work: ByClass, expected: Floats, seen: View) -> tuple[Floats, Floats]:
    """How many events fell on each class, and how many would have by what is expected of all."""
    share = work.weight / np.maximum(work.weight.sum(0), 1e-12)
    unit = seen.baseline.unit[0]
    return work.left.sum(1) / unit, (expected * share).sum(1) / unit


def _likely(speaks: Floats, moving: float) -> Floats:
    """How likely each class moved, by the log of what speaks for it and the share that moved."""
    odds = np.clip(speaks + np.log(moving / (1 - moving)), -_SURE, _SURE)
    return np.asarray(1 / (1 + np.exp(-odds)))


def _share(likely: Floats) -> float:
    return float((likely.sum() + 1) / (len(likely) + 2))


def _variance_between(step: Floats, variance: Floats) -> float:
    """By how much classes differ beyond the variance that each is told with.

    By the moments of DerSimonian and Laird (1986).
    """
    if len(step) < 2:
        return 0.0
    weight = 1 / variance
    apart = (weight * (step - np.average(step, weights=weight)) ** 2).sum()
    scale = weight.sum() - (weight**2).sum() / weight.sum()
    return float(max(apart - (len(step) - 1), 0.0) / scale)
