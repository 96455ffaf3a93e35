"""What the class of work explains: effects of workload, size, kind of try and model, by epoch.

An epoch's effects come from the epochs before the last one, so that no day explains itself, and
hold relative to the work itself, not to a team's level: a team that gets slower stays slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EPOCH_DAYS = 28
WINDOW_EPOCHS = 6
LEAST_OF_KIND = 5
_SHRINKAGE = 20.0
_RIDGE = 10.0
_MIDDLE_SIZE = 5


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of work of one measure: `team` and the codes of what sets them apart.

    `teams` counts the fleet's teams, also those that never told this measure.
    """

    team: Ints
    workload: Ints
    size: Ints
    trial: Ints
    model: Ints
    teams: int


def windows(epochs: int) -> list[slice]:
    """Of each epoch, which epochs it learns from; the first two learn from the first."""
    return [slice(max(0, epoch - 1 - WINDOW_EPOCHS), max(1, epoch - 1)) for epoch in range(epochs)]


def latency_effects(classes: Classes, count: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Effect of each class [class, epoch], nan for a model too new to tell; team levels likewise.

    `count` and `total` are the observations and the sum of their logs, [class, epoch].
    """
    cells, cell = distinct(classes.team, classes.workload, classes.size, classes.trial)
    works, work = distinct(classes.team, classes.model)
    design = _design(classes.workload[cells], classes.size[cells], classes.trial[cells])
    cell_team = classes.team[cells]
    epochs = count.shape[1]
    effects, levels = np.full(count.shape, np.nan), np.full((classes.teams, epochs), np.nan)
    newness = np.full((classes.teams, epochs), np.nan)
    for epoch, window in enumerate(windows(epochs)):
        n, s = count[:, window].sum(1), total[:, window].sum(1)
        cell_n, cell_s = _sums(cell, n, len(cells)), _sums(cell, s, len(cells))
        common = design @ _fitted(design, cell_team, cell_n, cell_s, classes.teams)
        level = divided(
            _sums(cell_team, cell_s - cell_n * common, classes.teams),
            _sums(cell_team, cell_n, classes.teams),
        )
        known = np.nan_to_num(level)
        own = (cell_s - cell_n * (common + known[cell_team])) / (cell_n + _SHRINKAGE)
        effect = (common + own)[cell]
        work_n = _sums(work, n, len(works))
        left = _sums(work, s - n * (effect + known[classes.team]), len(works))
        effect = effect + (left / (work_n + _SHRINKAGE))[work]
        is_new = (work_n < LEAST_OF_KIND)[work]
        newness[:, epoch] = divided(
            _sums(classes.team, count[:, epoch] * is_new, classes.teams),
            _sums(classes.team, count[:, epoch], classes.teams),
        )
        # where every model is always new, that says nothing
        telling = _mean_told(newness[:, max(1, epoch - WINDOW_EPOCHS) : epoch]) < 0.5
        effect = np.where(is_new & telling[classes.team], np.nan, effect)
        step = np.zeros(classes.teams)
        if epoch:
            # learnt anew they must not move a team whose work stays the same
            before = effects[:, epoch - 1]
            both = np.where(np.isnan(before - effect), 0.0, count[:, epoch - 1])
            apart = np.nan_to_num(before - effect)
            step = np.nan_to_num(
                divided(
                    _sums(classes.team, both * apart, classes.teams),
                    _sums(classes.team, both, classes.teams),
                )
            )
        effects[:, epoch] = effect + step[classes.team]
        levels[:, epoch] = level - step
    return effects, levels


def untold(classes: Classes, count: Floats) -> NDArray[np.bool_]:
    """Whether the workload, the size or the kind of try of a class is new to the fleet [class,
    epoch]: what it takes is then a guess by the others. `count` as in `latency_effects`.
    """
    kinds = [distinct(each)[1] for each in (classes.workload, classes.size, classes.trial)]
    is_new = np.zeros(count.shape, dtype=bool)
    for epoch, window in enumerate(windows(count.shape[1])):
        n = count[:, window].sum(1)
        for kind in kinds:
            told = _sums(kind, n, int(kind.max(initial=0)) + 1)
            is_new[:, epoch] |= (told < LEAST_OF_KIND)[kind]
    return is_new


def rate_effects(
    classes: Classes, exposure: Floats, total: Floats, squares: Floats
) -> tuple[Floats, Floats]:
    """Relative rate of each class [class, epoch], and of each team [team, epoch], nan if unknown.

    `squares` over `total` is the size of one event; shrinkage is so many of them.
    """
    groups, group = distinct(classes.workload, classes.size)
    effects = np.ones(exposure.shape)
    rates = np.full((classes.teams, exposure.shape[1]), np.nan)
    for epoch, window in enumerate(windows(exposure.shape[1])):
        x, y = exposure[:, window].sum(1), total[:, window].sum(1)
        prior = _SHRINKAGE / 2 * (squares[:, window].sum() / y.sum() if y.sum() > 0 else 1.0)
        relative = np.ones(len(groups))
        team_y = _sums(classes.team, y, classes.teams)
        for _ in range(2):
            rate = divided(team_y, _sums(classes.team, x * relative[group], classes.teams))
            expected = _sums(group, x * np.nan_to_num(rate)[classes.team], len(groups))
            relative = (_sums(group, y, len(groups)) + prior) / (expected + prior)
        effect, step = relative[group], np.ones(classes.teams)
        if epoch:
            newest = exposure[:, epoch - 1]
            step = divided(
                _sums(classes.team, newest * effects[:, epoch - 1], classes.teams),
                _sums(classes.team, newest * effect, classes.teams),
            )
            step = np.where(np.isnan(step), 1.0, step)
        effects[:, epoch] = effect * step[classes.team]
        rates[:, epoch] = rate / step
    return effects, rates


def _design(workload: Ints, size: Ints, trial: Ints) -> Floats:
    """Columns: a slope over sizes, then one for each workload, size and kind of try."""
    slope = np.where(size < 0, 0.0, (size - _MIDDLE_SIZE) / 2.0)
    dummies = [
        (codes[:, None] == np.unique(codes)[None, :]).astype(float)
        for codes in (workload, size, trial)
    ]
    return np.column_stack([slope, *dummies])


def _fitted(design: Floats, team: Ints, n: Floats, s: Floats, teams: int) -> Floats:
    """Effects within teams by weighted ridge regression; the slope is hardly held back."""
    weight = _sums(team, n, teams)
    means = np.column_stack(
        [divided(_sums(team, n * column, teams), weight) for column in design.T]
    )
    centred = design - np.nan_to_num(means)[team]
    y = s - n * np.nan_to_num(divided(_sums(team, s, teams), weight))[team]
    ridge = np.full(design.shape[1], _RIDGE)
    ridge[0] = 1.0
    gram = (centred * n[:, None]).T @ centred + np.diag(ridge)
    return np.asarray(np.linalg.solve(gram, centred.T @ y))


def _mean_told(values: Floats) -> Floats:
    """Of each row the mean of what is not nan; 1 where nothing is told."""
    told = ~np.isnan(values)
    whole = np.where(told, values, 0.0).sum(1)
    return np.where(told.any(1), whole / np.maximum(told.sum(1), 1), 1.0)


def divided(over: Floats, under: Floats) -> Floats:
    """A ratio; nan where there is nothing to divide by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(under > 0, over / under, np.nan)


def distinct(*codes: Ints) -> tuple[Ints, Ints]:
    """Places of one row of each combination, and of every row the number of its combination."""
    whole = np.zeros(len(codes[0]), dtype=np.int64)
    width = 1
    for code in codes:
        least = int(code.min(initial=0))
        whole = whole * (int(code.max(initial=0)) - least + 1) + (code - least)
        width *= int(code.max(initial=0)) - least + 1
    if width > 50_000_000:
        _, first, number = np.unique(whole, return_index=True, return_inverse=True)
        return first, number
    place = np.full(width, -1, dtype=np.int64)
    place[whole] = np.arange(len(whole))
    is_there = place >= 0
    number = np.cumsum(is_there) - 1
    return place[is_there], number[whole]


def _sums(code: Ints, values: Floats, length: int) -> Floats:
    return np.bincount(code, values, length).astype(float)
