"""From cells to series: what the mix explains is taken out, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bench.series_fleets import World
from bench.whole_fleets import fleet, last_day
from queries.detection import baseline, mix
from queries.detection.series import FLEET, Panels, panels
from tests.detection.frames import cells, day

STILL = World(0.2, day_spread=0.0, weekday_spread=0.0, outlier_share=0.0, missing_share=0.0)
DAYS = 140


@pytest.fixture(scope="module")
def told() -> pl.DataFrame:
    return fleet(3, 3, DAYS, 30.0, STILL)


@pytest.fixture(scope="module")
def laid(told: pl.DataFrame) -> Panels:
    return panels(told, last_day(DAYS))


def test_every_team_and_the_fleet_have_a_series_of_every_measure(laid: Panels) -> None:
    metrics = {metric for _, metric in (*laid.levels.keys, *laid.rates.keys)}

    assert {(team, metric) for team in ("team-0", "team-1", "team-2", FLEET) for metric in metrics}
    assert 4 * len(metrics) == len(laid.levels.keys) + len(laid.rates.keys)
    assert DAYS == laid.levels.days == laid.rates.days


def test_a_day_without_observations_has_no_value_and_no_weight(told: pl.DataFrame) -> None:
    bare = panels(told.filter(pl.col("day") != day(70)), last_day(DAYS)).levels

    assert np.isnan(bare.value[:, 70]).all()
    assert (bare.weight[:, 70] == 0).all()
    assert not np.isnan(bare.value[:, 71]).any()


def test_observations_that_are_known_are_all_counted(told: pl.DataFrame, laid: Panels) -> None:
    counted = told.filter(pl.col("metric") == "trainer_init_seconds")["exposure"].sum()
    row = laid.levels.keys.index((FLEET, "trainer_init_seconds"))

    assert counted == laid.levels.told_exposure[row].sum()
    assert counted == pytest.approx(laid.levels.weight[row].sum(), rel=0.01)


def test_other_work_leaves_no_trace_in_the_residuals(told: pl.DataFrame) -> None:
    """From day 100 on the first team runs only its largest size; nothing takes longer."""
    is_other = (pl.col("team") == "team-0") & (pl.col("day") >= day(100)) & (pl.col("size") < 7)
    shifted = panels(told.filter(~is_other), last_day(DAYS))
    row = shifted.levels.keys.index(("team-0", "trainer_init_seconds"))
    value = shifted.levels.value[row]
    told_n = np.where(
        shifted.levels.told_exposure[row] > 0, shifted.levels.told_exposure[row], np.nan
    )
    raw = shifted.levels.told_total[row] / told_n
    explained = shifted.mixes.value[shifted.mixes.keys.index(("team-0", "trainer_init_seconds"))]

    assert np.nanmean(raw[100:]) - np.nanmean(raw[:100]) == pytest.approx(0.21, abs=0.05)
    assert np.nanmean(value[100:]) - np.nanmean(value[:100]) == pytest.approx(0, abs=0.05)
    assert np.nanmean(explained[100:]) - np.nanmean(explained[:100]) == pytest.approx(
        0.21, abs=0.05
    )


def test_what_gets_slower_is_left_in_the_residuals(told: pl.DataFrame) -> None:
    is_slower = pl.col("day") >= day(100)
    slower = told.with_columns(
        total=pl.when(is_slower).then(pl.col("total") + pl.col("exposure")).otherwise("total")
    ).filter(pl.col("metric") == "trainer_init_seconds")
    levels = panels(slower, last_day(DAYS)).levels

    for row in range(len(levels.keys)):
        value = levels.value[row]
        assert np.nanmean(value[100:]) - np.nanmean(value[:100]) == pytest.approx(1, abs=0.06)


def test_a_model_that_is_new_is_not_judged_by_what_others_took(told: pl.DataFrame) -> None:
    is_new = (pl.col("team") == "team-0") & (pl.col("day") >= day(112)) & (pl.col("size") > 4)
    renamed = told.with_columns(
        model=pl.when(is_new).then(pl.lit("newest")).otherwise("model"),
        total=pl.when(is_new).then(pl.col("total") + pl.col("exposure")).otherwise("total"),
    ).filter(pl.col("metric") == "trainer_init_seconds")
    levels = panels(renamed, last_day(DAYS)).levels
    row = levels.keys.index(("team-0", "trainer_init_seconds"))

    assert np.nanmean(levels.value[row, 112:]) - np.nanmean(
        levels.value[row, :112]
    ) == pytest.approx(0, abs=0.1)
    assert levels.weight[row, 112:].sum() < 0.7 * levels.told_exposure[row, 112:].sum()


def test_a_team_that_names_every_model_anew_is_still_judged(told: pl.DataFrame) -> None:
    renamed = told.with_columns(model=pl.col("day").dt.to_string()).filter(
        pl.col("metric") == "trainer_init_seconds"
    )
    levels = panels(renamed, last_day(DAYS)).levels

    assert (levels.weight[:, -10:] > 0).all()


@pytest.mark.parametrize("kind", ["workload", "trial"])
def test_a_team_of_which_all_work_is_called_anew_is_still_judged(
    kind: str, told: pl.DataFrame
) -> None:
    is_new = (pl.col("team") == "team-0") & (pl.col("day") >= day(112))
    renamed = told.with_columns(
        pl.when(is_new).then(pl.lit("newest")).otherwise(kind).alias(kind),
    ).filter(pl.col("metric") == "trainer_init_seconds")
    levels = panels(renamed, last_day(DAYS)).levels
    row = levels.keys.index(("team-0", "trainer_init_seconds"))

    assert levels.told_exposure[row, 112:].sum() == pytest.approx(levels.weight[row, 112:].sum())


def test_effects_learnt_anew_do_not_move_a_series(told: pl.DataFrame) -> None:
    """Classes that never change within a team cannot tell a step at the turn of an epoch."""
    fixed = told.filter(
        (pl.col("metric") == "trainer_init_seconds")
        & (pl.col("team").str.tail(1).cast(pl.Int64) + 3 == pl.col("size"))
    )
    levels = panels(fixed, last_day(DAYS)).levels
    turns = range(2 * mix.EPOCH_DAYS, DAYS - 14, mix.EPOCH_DAYS)

    for value in levels.value[:3]:
        for turn in turns:
            step = np.nanmean(value[turn : turn + 14]) - np.nanmean(value[turn - 14 : turn])
            assert abs(step) < 0.1


def test_failures_of_a_domain_fall_on_what_all_failures_fall_on() -> None:
    told = cells(
        *(
            {"metric": "failures", "day": day(number), "exposure": 100.0, "total": 0.0}
            for number in range(10)
        ),
        {"metric": "failures_storage", "day": day(4), "exposure": 0.0, "total": 1.0},
    )
    rates = panels(told, day(9)).rates
    row = rates.keys.index(("ranking", "failures_storage"))

    assert [100.0] * 10 == list(rates.told_exposure[row])
    assert [0, 0, 0, 0, 1, 0, 0, 0, 0, 0] == list(rates.value[row])


def test_distinct_numbers_combinations_however_many_could_be() -> None:
    few, many = np.array([0, 1, 0, 1]), np.array([0, 10**9, 0, 7])
    for codes in ((few, few), (few, many)):
        first, number = mix.distinct(*codes)

        assert [code[first][number].tolist() for code in codes] == [code.tolist() for code in codes]
        assert len(set(zip(*(code.tolist() for code in codes), strict=True))) == len(first)


@pytest.mark.parametrize("measure", ["trainer_init_seconds", "ett_ratio", "failures"])
def test_teams_that_never_told_a_measure_stand_between_and_behind_those_that_did(
    measure: str,
) -> None:
    others = ("ads", "quiet", "silent")
    told = cells(
        {"team": "ads", "metric": "checkpoint_save_seconds"},
        {"team": "quiet", "metric": "checkpoint_save_seconds"},
        {"team": "silent", "metric": "checkpoint_save_seconds"},
        {"team": "ranking", "metric": measure},
    )

    laid = panels(told, day(1))

    series = {*laid.levels.keys, *laid.rates.keys}
    assert {("ranking", measure), (FLEET, measure)} <= series
    assert not {(team, measure) for team in others} & series


def test_a_grid_is_read_as_a_general_interpolation_reads_it() -> None:
    logs = np.concatenate([baseline._LOGS, np.linspace(np.log(0.01), 12.0, 5_001)])
    _, spreads = baseline._poisson_roots()
    expected = np.interp(logs, baseline._LOGS, spreads)

    assert expected.tolist() == pytest.approx(baseline._between(logs, spreads).tolist(), rel=1e-9)


def test_rows_may_stand_in_any_order_and_sums_are_equal_to_the_last_bit(
    told: pl.DataFrame, laid: Panels
) -> None:
    mixed = panels(told.sample(fraction=1.0, shuffle=True, seed=5), last_day(DAYS))

    for one, other in zip(
        (laid.levels, laid.rates, laid.mixes), (mixed.levels, mixed.rates, mixed.mixes), strict=True
    ):
        assert one.keys == other.keys
        assert all(
            np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
            for name in ("value", "weight", "squares", "told_total", "gpu_seconds")
        )
