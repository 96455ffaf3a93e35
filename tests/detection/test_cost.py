"""What a regression costs, beside what was added to the GPU-seconds of a simulated fleet."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from bench.whole_fleets import fleet, last_day
from queries.detection.series import FLEET, panels
from queries.regressions import Settings, detect
from tests.detection.frames import DAYS, FIRST, STEADY, cells, day, rows

SMALL, LARGE = (3, 4, 5, 6), (12,)
PHASE = "trainer_init_seconds"


def _with_large_jobs(per_day: float, teams: int = 3, seed: int = 100) -> pl.DataFrame:
    """A fleet in which one job of ten has 4,096 GPUs: it holds nearly all of them."""
    is_large = pl.col("size") == 7
    return fleet(seed, teams, DAYS, per_day, STEADY).with_columns(
        pl.when(is_large).then(12).otherwise("size").cast(pl.Int64).alias("size"),
        pl.when(is_large).then(pl.col("gpu_seconds") * 32).otherwise("gpu_seconds"),
    )


def _changed(teams: list[str], metric: str, sizes: tuple[int, ...]) -> pl.Expr:
    is_there = pl.col("team").is_in(teams) & (pl.col("metric") == metric)
    return is_there & (pl.col("day") >= day(FIRST)) & pl.col("size").is_in(sizes)


def _slower(told: pl.DataFrame, changed: pl.Expr, ratio: float) -> pl.DataFrame:
    log = math.log(ratio)
    squares = pl.col("squares") + 2 * log * pl.col("total") + pl.col("exposure") * log**2
    return told.with_columns(
        pl.when(changed).then(pl.col("total") + pl.col("exposure") * log).otherwise("total"),
        pl.when(changed).then(squares).otherwise("squares"),
        pl.when(changed).then(pl.col("gpu_seconds") * ratio).otherwise("gpu_seconds"),
    )


def _more(told: pl.DataFrame, changed: pl.Expr, ratio: float) -> pl.DataFrame:
    """So many times as many events, each of the size that it had."""
    return told.with_columns(
        pl.when(changed).then(pl.col(name) * ratio).otherwise(name)
        for name in ("total", "squares", "gpu_seconds")
    )


def _told_and_true(
    worse: pl.DataFrame, changed: pl.Expr, ratio: float, team: str, metric: str
) -> tuple[float, float]:
    """GPU-hours a day: what is told of the open regression, and what was added to the fleet."""
    found = detect(worse, last_day(DAYS), Settings()).regressions
    [(started_on, told)] = rows(
        found, "started_on", "lost_gpu_seconds_per_day", team=team, metric=metric, state="open"
    )
    spent = worse.filter(changed & (pl.col("day") >= started_on))["gpu_seconds"].sum()
    days = (last_day(DAYS) - started_on).days + 1
    return told / 3600, spent * (1 - 1 / ratio) / days / 3600


@pytest.mark.parametrize("sizes", [SMALL, LARGE, SMALL + LARGE])
def test_only_the_sizes_that_got_slower_cost_something(sizes: tuple[int, ...]) -> None:
    changed = _changed(["team-1"], PHASE, sizes)
    worse = _slower(_with_large_jobs(60.0), changed, 1.6)
    told, true = _told_and_true(worse, changed, 1.6, "team-1", PHASE)

    assert told == pytest.approx(true, rel=0.1)


def test_only_the_teams_whose_sizes_got_slower_cost_something() -> None:
    # all teams are slower, each in its small jobs; what the large ones held is no loss
    teams = [f"team-{number}" for number in range(4)]
    changed = _changed(teams, PHASE, SMALL)
    worse = _slower(_with_large_jobs(40.0, teams=4), changed, 1.6)
    told, true = _told_and_true(worse, changed, 1.6, FLEET, PHASE)

    assert told == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize(
    ("metric", "sizes"),
    [
        ("preemption_ratio", SMALL + LARGE),
        ("preemption_ratio", (3, 4)),
        ("ett_ratio", LARGE),
    ],
)
def test_only_the_sizes_with_more_of_it_cost_something(metric: str, sizes: tuple[int, ...]) -> None:
    changed = _changed(["team-1"], metric, sizes)
    worse = _more(_with_large_jobs(60.0), changed, 4.0)
    told, true = _told_and_true(worse, changed, 4.0, "team-1", metric)

    assert told == pytest.approx(true, rel=0.2)


def test_a_class_that_did_not_run_before_costs_what_all_do() -> None:
    changed = _changed(["team-1"], PHASE, SMALL + LARGE)
    usual = _with_large_jobs(60.0)
    is_new = (pl.col("team") == "team-1") & (pl.col("size") == 12) & (pl.col("day") < day(FIRST))
    worse = _slower(usual.filter(~is_new), changed, 1.6)
    told, true = _told_and_true(worse, changed, 1.6, "team-1", PHASE)

    assert told == pytest.approx(true, rel=0.1)


def test_failures_that_all_fell_on_a_class_that_did_not_run_before_cost_what_they_took() -> None:
    metric, is_team = "failures_storage", pl.col("team") == "team-1"
    is_large = is_team & (pl.col("size") == 12) & pl.col("metric").str.starts_with("failures")
    usual = _with_large_jobs(60.0).filter(~(is_large & (pl.col("day") < day(FIRST))))
    is_other = is_team & (pl.col("metric") == metric) & (pl.col("size") != 12)
    changed = _changed(["team-1"], metric, LARGE)
    worse = usual.with_columns(
        pl.when(changed).then(each).when(is_other).then(0.0).otherwise(name).alias(name)
        for name, each in (("total", 1.0), ("squares", 1.0), ("gpu_seconds", 36_000.0))
    )
    told, true = _told_and_true(worse, changed, math.inf, "team-1", metric)

    assert told == pytest.approx(true, rel=0.1)


def test_a_regression_of_one_job_a_day_costs_what_it_takes_longer() -> None:
    alone = cells(
        *(
            {"day": day(number), "total": 5.0 + 0.01 * (number % 3) + (number >= FIRST)}
            for number in range(DAYS)
        )
    )
    [(told,)] = rows(
        detect(alone, last_day(DAYS), Settings()).regressions,
        "lost_gpu_seconds_per_day",
        team="ranking",
        state="open",
    )

    assert told == pytest.approx(1000 * (1 - math.exp(-1)), rel=0.05)


def test_the_classes_of_a_series_make_up_the_series() -> None:
    told = panels(_with_large_jobs(15.0), last_day(DAYS))

    for panel in (told.levels, told.rates):
        for row, (_, name) in enumerate(panel.keys):
            work = panel.by_class(row)
            whole = panel.value[row] * (1 if panel.is_rate else panel.weight[row])
            np.testing.assert_allclose(work.weight.sum(0), panel.weight[row], err_msg=name)
            np.testing.assert_allclose(work.gpu_seconds.sum(0), panel.gpu_seconds[row])
            np.testing.assert_allclose(work.left.sum(0), np.nan_to_num(whole), atol=1e-6)
