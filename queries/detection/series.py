"""From sums by day and class of work to series by day, with what the mix explains taken out.

A day without observations has no value: never zero. The fleet is made of its teams here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from queries.detection import mix
from queries.detection.metrics import Kind, metric
from queries.detection.mix import Classes, Floats, Ints

FLEET = "fleet"

# What a frame of cells must have, in any order; sums over the rows, attempts, of a day in a class
# of work.
# of latencies: exposure = observations, total and squares of the logs of their seconds.
# of counts: exposure, total = events. of shares: exposure and total in seconds.
COLUMNS = {
    "team": pl.String,
    "metric": pl.String,
    "day": pl.Date,
    "workload": pl.String,
    "size": pl.Int64,
    "trial": pl.String,
    "model": pl.String,
    "rows": pl.Float64,
    "exposure": pl.Float64,
    "total": pl.Float64,
    "squares": pl.Float64,
    "gpu_seconds": pl.Float64,
}
_SUMMED = ("rows", "exposure", "total", "squares", "gpu_seconds")

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ByClass:
    """What a series is made of, [class, day]: `weight` and `gpu_seconds` as a panel has them.

    `left` sums what is left of the logs of levels, or what fell on a rate.
    """

    weight: Floats
    left: Floats
    gpu_seconds: Floats

    def at(self, chosen: Ints, days: slice) -> ByClass:
        """Some classes on some days."""
        arrays = (self.weight, self.left, self.gpu_seconds)
        return ByClass(*(each[chosen, days] for each in arrays))

    def grouped(self, group: Ints) -> ByClass:
        """The sums of the classes of each group, which are numbered from 0."""
        is_in = (np.arange(group.max() + 1)[:, None] == group).astype(float)
        return ByClass(*(is_in @ each for each in (self.weight, self.left, self.gpu_seconds)))


@dataclass(frozen=True, slots=True)
class _Work:
    """What the series of a measure are made of: rows as those of `_Cells`, what is left of each.

    In the fleet each team's weight counts `scale` times, and its own level is taken out.
    """

    teams: Sequence[str]
    classes: Classes
    kind_of: Ints
    day: Ints
    gpu: Floats
    weight: Floats
    left: Floats
    level: Floats
    scale: Floats


@dataclass(frozen=True, slots=True)
class Panel:
    """Series of one way of scoring: all arrays are [series, day], the first day is `begins`.

    Of levels, `value` is the mean of what is left of the logs, `weight` the observations and
    `squares` the squares around that mean. Of rates, `value` is what fell on the exposure
    `weight`, which is adjusted for the mix, and `squares` the squares of its pieces.
    `told_*` are the same before anything was taken out. `work` is, by measure, what the series
    are made of; of the mix alone nothing.
    """

    begins: date
    is_rate: bool
    keys: tuple[Key, ...]
    value: Floats
    weight: Floats
    squares: Floats
    told_total: Floats
    told_exposure: Floats
    told_rows: Floats
    gpu_seconds: Floats
    work: Mapping[str, _Work] = field(default_factory=dict, repr=False, kw_only=True)

    @property
    def days(self) -> int:
        return int(self.value.shape[1])

    def by_class(self, row: int) -> ByClass:
        """A series by size, that of the fleet by team too; the mix is of one class."""
        team, name = self.keys[row]
        if name not in self.work:
            one = (self.weight, self.value, self.gpu_seconds)
            return ByClass(*(each[[row]] for each in one))
        return _by_class(self.work[name], team, self.days)


@dataclass(frozen=True, slots=True)
class Panels:
    """All series of a fleet: levels and rates without the mix, and the mix alone as levels."""

    levels: Panel
    rates: Panel
    mixes: Panel


@dataclass(frozen=True, slots=True)
class _Cells:
    """The rows of one measure: a class of work and a day each, in this order, so that sums of equal
    frames are equal to the last bit.
    """

    name: str
    teams: Sequence[str]
    classes: Classes
    kind_of: Ints
    day: Ints
    rows: Floats
    exposure: Floats
    total: Floats
    squares: Floats
    gpu: Floats


@dataclass(frozen=True, slots=True)
class _Part:
    """The series of one measure by team, the fleet last: rows as `Panel` has them, and the mix."""

    name: str
    rows: tuple[Floats, ...]
    mix_rows: tuple[Floats, ...]
    work: _Work


def panels(cells: pl.DataFrame, until: date) -> Panels:
    """The series of a frame with `COLUMNS`: every day from its first to `until` is there."""
    begins: date = cells["day"].min()  # type: ignore[assignment]
    days = (until - begins).days + 1
    teams = sorted(cells["team"].unique())
    levels, rates = [], []
    for each in _measures(cells, teams, begins):
        if metric(each.name).kind is Kind.LATENCY:
            levels.append(_levels(each, days))
        else:
            rates.append(_rates(each, days))
    names = (*teams, FLEET)
    shifting = [each for each in (*levels, *rates) if _can_shift(each.name)]
    works = {each.name: each.work for each in (*levels, *rates)}
    return Panels(
        _panel(begins, False, names, days, [(each.name, each.rows) for each in levels], works),
        _panel(begins, True, names, days, [(each.name, each.rows) for each in rates], works),
        _panel(begins, False, names, days, [(each.name, each.mix_rows) for each in shifting], {}),
    )


def _can_shift(name: str) -> bool:
    """Whether another mix of work is looked for: a stage shifts with its phase."""
    return metric(name).kind is not Kind.COUNT and metric(name).stage is None


def day_of(begins: date, number: int) -> date:
    return begins + timedelta(days=number)


def _measures(cells: pl.DataFrame, teams: list[str], begins: date) -> Iterator[_Cells]:
    """Each measure's rows; failures of a domain fall on what all failures fall on."""
    columns = _columns(cells, teams, begins)
    rows_of = _rows_by_metric(cells["metric"])
    for name in sorted(rows_of):
        part = _chosen(columns, rows_of[name])
        if metric(name).failure_domain is not None and "failures" in rows_of:
            part = _falling_on(_chosen(columns, rows_of["failures"]), part)
        yield _cells_of(name, part, teams)


def _columns(cells: pl.DataFrame, teams: list[str], begins: date) -> dict[str, NDArray[Any]]:
    """All columns but the metric as numbers: words by their place in order, days from the first."""
    numbers = {name: cells[name].to_numpy() for name in ("size", *_SUMMED)}
    words = {"team": teams} | {
        name: sorted(cells[name].unique()) for name in ("workload", "trial", "model")
    }
    codes = {
        name: cells[name].cast(pl.Enum(known)).to_physical().cast(pl.Int64).to_numpy()
        for name, known in words.items()
    }
    return codes | numbers | {"day": (cells["day"] - begins).dt.total_days().to_numpy()}


def _rows_by_metric(metrics: pl.Series) -> dict[str, Ints]:
    names = sorted(metrics.unique())
    code = metrics.cast(pl.Enum(names)).to_physical().to_numpy()
    ordered = np.argsort(code.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(names)))
    return dict(zip(names, np.split(ordered, ends[:-1]), strict=True))


def _chosen(columns: Mapping[str, NDArray[Any]], rows: Ints) -> dict[str, NDArray[Any]]:
    return {name: values[rows] for name, values in columns.items()}


def _falling_on(
    exposed: Mapping[str, NDArray[Any]], part: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """The exposure of one measure with what fell on it of another."""
    bare = {name: np.zeros(len(exposed["day"])) for name in ("total", "squares", "gpu_seconds")}
    falls = {"exposure": np.zeros(len(part["day"]))}
    both = ({**exposed, **bare}, {**part, **falls})
    return {name: np.concatenate([each[name] for each in both]) for name in part}


def _cells_of(name: str, part: Mapping[str, NDArray[Any]], teams: Sequence[str]) -> _Cells:
    codes = [part[name] for name in ("team", "workload", "size", "trial", "model")]
    rows, kind_of = mix.distinct(*codes)
    team, workload, size, trial, model = (code[rows] for code in codes)
    day = part["day"]
    order = np.argsort(kind_of * (int(day.max(initial=0)) + 1) + day, kind="stable")
    return _Cells(
        name,
        teams,
        Classes(team, workload, size, trial, model, len(teams)),
        kind_of[order],
        day[order],
        *(part[column][order] for column in _SUMMED),
    )


def _levels(cells: _Cells, days: int) -> _Part:
    """Mean log residuals of each team, and of the fleet beside its teams' levels."""
    by_epoch = _by_epoch(cells, cells.exposure, days)
    effects, team_levels = mix.latency_effects(
        cells.classes, by_epoch, _by_epoch(cells, cells.total, days)
    )
    sums = _summing(cells, days)
    effect = effects[cells.kind_of, cells.day // mix.EPOCH_DAYS]
    is_known = ~np.isnan(effect) & ~_is_beside(cells, mix.untold(cells.classes, by_epoch), sums)
    effect = np.where(is_known, effect, 0.0)
    n, logs = cells.exposure * is_known, cells.total * is_known
    squares = cells.squares * is_known - 2 * effect * logs + n * effect**2
    left = logs - n * effect
    count, total = sums(n), sums(left)
    start = _first_known(team_levels)
    value = mix.divided(total, count)
    within = np.maximum(sums(squares) - count * np.nan_to_num(value) ** 2, 0.0)
    told = _told(cells, sums)
    raw = mix.divided(sums(cells.total), sums(cells.exposure))
    explained = raw - np.where(count > 0, value, _held(team_levels, days))
    spread = sums(cells.exposure * effect**2) - np.nan_to_num(
        mix.divided(sums(cells.exposure * effect) ** 2, sums(cells.exposure))
    )
    return _Part(
        cells.name,
        (*_with_fleet(count, total, within, start), *told),
        (
            _without_fleet(explained, np.nan),
            _without_fleet(np.where(np.isnan(explained), 0.0, sums(cells.exposure)), 0.0),
            _without_fleet(np.maximum(spread, 0.0), 0.0),
            *told,
        ),
        _work(cells, n, left, np.nan_to_num(start), (~np.isnan(start)).astype(float)),
    )


def _is_beside(
    cells: _Cells, is_new: NDArray[np.bool_], sums: Callable[[Floats], Floats]
) -> NDArray[np.bool_]:
    """Of each row whether its work is new, and its team's of that day mostly is not.

    A team of which all is new goes on being judged: by what is known of other work.
    """
    is_row_new = is_new[cells.kind_of, cells.day // mix.EPOCH_DAYS]
    is_mostly_new = sums(cells.exposure * is_row_new) > sums(cells.exposure) / 2
    return is_row_new & ~is_mostly_new[cells.classes.team[cells.kind_of], cells.day]


def _with_fleet(
    count: Floats, total: Floats, within: Floats, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """Values, weights and squares of the teams and, last, of the fleet.

    In the fleet a team counts by how far it is from its own first level; one without a level is
    left out.
    """
    is_in = ~np.isnan(start)[:, None]
    n = count * is_in
    left = (total - count * np.nan_to_num(start)[:, None]) * is_in
    value = mix.divided(left.sum(0), n.sum(0))
    between = (left**2 / np.maximum(n, 1)).sum(0) - n.sum(0) * np.nan_to_num(value) ** 2
    squares = np.maximum((within * is_in).sum(0) + between, 0.0)
    return (
        np.vstack([mix.divided(total, count), value]),
        np.vstack([count, n.sum(0)]),
        np.vstack([within, squares]),
    )


def _rates(cells: _Cells, days: int) -> _Part:
    """What fell on the exposure, which counts a class as often as it counts for such events."""
    effects, team_rates = mix.rate_effects(
        cells.classes,
        _by_epoch(cells, cells.exposure, days),
        _by_epoch(cells, cells.total, days),
        _by_epoch(cells, cells.squares, days),
    )
    sums = _summing(cells, days)
    told = _told(cells, sums)
    exposure = sums(cells.exposure)
    weight = cells.exposure * effects[cells.kind_of, cells.day // mix.EPOCH_DAYS]
    adjusted = sums(weight)
    start = _first_known(team_rates)
    # teams of other rates weigh by them; without a rate yet, as the middle of all
    middle = float(start[~np.isnan(start)].mean()) if np.isfinite(start).any() else 1.0
    relative = np.where(np.isnan(start), 1.0, np.maximum(start / (middle or 1.0), 0.05))
    with np.errstate(divide="ignore", invalid="ignore"):
        explained = np.where(exposure > 0, np.log(adjusted / exposure), np.nan)
    return _Part(
        cells.name,
        (
            _with_sum(sums(cells.total)),
            np.vstack([adjusted, (adjusted * relative[:, None]).sum(0)]),
            _with_sum(sums(cells.squares)),
            *told,
        ),
        (
            _without_fleet(explained, np.nan),
            _without_fleet((exposure > 0).astype(float), 0.0),
            np.zeros((cells.classes.teams + 1, days)),
            *told,
        ),
        _work(cells, weight, cells.total, np.zeros(len(relative)), relative),
    )


def _work(cells: _Cells, weight: Floats, left: Floats, level: Floats, scale: Floats) -> _Work:
    told = (cells.teams, cells.classes, cells.kind_of, cells.day, cells.gpu)
    return _Work(*told, weight, left, level, scale)


def _by_class(work: _Work, team: str, days: int) -> ByClass:
    told = work.classes
    weight, left = work.weight, work.left
    chosen: Ints | slice = slice(None)
    if team == FLEET:
        of = told.team[work.kind_of]
        weight, left = weight * work.scale[of], left - weight * work.level[of]
    else:
        chosen = np.flatnonzero((told.team == work.teams.index(team))[work.kind_of])
    _, group = mix.distinct(told.team, told.size)
    classes, place = mix.distinct(group[work.kind_of[chosen]])
    code, length = place * days + work.day[chosen], len(classes) * days
    sums = (np.bincount(code, each[chosen], length) for each in (weight, left, work.gpu))
    return ByClass(*(each.astype(float).reshape(-1, days) for each in sums))


def _told(cells: _Cells, sums: Callable[[Floats], Floats]) -> tuple[Floats, ...]:
    """Totals, exposure, rows and GPU-seconds as they were told, the fleet last."""
    return tuple(
        _with_sum(sums(values)) for values in (cells.total, cells.exposure, cells.rows, cells.gpu)
    )


def _summing(cells: _Cells, days: int) -> Callable[[Floats], Floats]:
    """Sums a measure's rows into [team, day]."""
    teams = cells.classes.teams
    code = cells.classes.team[cells.kind_of] * days + cells.day

    def sums(values: Floats) -> Floats:
        return np.bincount(code, values, teams * days).astype(float).reshape(teams, days)

    return sums


def _by_epoch(cells: _Cells, values: Floats, days: int) -> Floats:
    epochs = (days - 1) // mix.EPOCH_DAYS + 1
    kinds = len(cells.classes.team)
    code = cells.kind_of * epochs + cells.day // mix.EPOCH_DAYS
    return np.bincount(code, values, kinds * epochs).astype(float).reshape(kinds, epochs)


def _first_known(by_epoch: Floats) -> Floats:
    """Of each row the first value that is not nan; nan where there is none."""
    place = np.argmax(~np.isnan(by_epoch), axis=1)
    return np.asarray(by_epoch[np.arange(len(by_epoch)), place])


def _held(by_epoch: Floats, days: int) -> Floats:
    return np.repeat(by_epoch, mix.EPOCH_DAYS, axis=1)[:, :days]


def _with_sum(by_team: Floats) -> Floats:
    return np.vstack([by_team, by_team.sum(0)])


def _without_fleet(by_team: Floats, nothing: float) -> Floats:
    return np.vstack([by_team, np.full((1, by_team.shape[1]), nothing)])


def _panel(
    begins: date,
    is_rate: bool,
    teams: tuple[str, ...],
    days: int,
    parts: list[tuple[str, tuple[Floats, ...]]],
    work: Mapping[str, _Work],
) -> Panel:
    """Stack measures; series in which nothing was ever told are left out."""
    keys: list[Key] = []
    stacks: list[list[Floats]] = [[] for _ in range(7)]
    for name, rows in parts:
        _, weight, _, total, exposure, _, _ = rows
        is_told = np.asarray((exposure > 0).any(1) & (weight > 0).any(1))
        if metric(name).kind is not Kind.LATENCY:
            is_told &= np.asarray((total > 0).any(1))
        keys += [(team, name) for team, told in zip(teams, is_told, strict=True) if told]
        for stack, array in zip(stacks, rows, strict=True):
            stack.append(array[is_told])
    arrays = (np.vstack(stack) if stack else np.zeros((0, days)) for stack in stacks)
    return Panel(begins, is_rate, tuple(keys), *arrays, work=work)
