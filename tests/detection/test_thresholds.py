"""The committed table is the one that this code measures."""

from __future__ import annotations

import csv
from itertools import pairwise

import numpy as np
import pytest

from bench import calibrate
from queries.detection import thresholds

with thresholds.TABLE.open(encoding="utf-8", newline="") as file:
    TABLE = list(csv.DictReader(file))


def test_the_table_was_measured_with_the_code_as_it_is() -> None:
    """Fails when the scores change: then `make calibrate`, and read the table's difference."""
    assert {calibrate.probe()} == {row["probe"] for row in TABLE}


def test_the_table_has_the_tiers_and_rates_that_calibration_measures() -> None:
    tiers = [("level", f"{tier:g}") for tier in calibrate.LEVEL_TIERS]
    tiers += [("rate", f"{tier:g}") for tier in calibrate.RATE_TIERS]

    assert list(calibrate.COLUMNS) == list(TABLE[0])
    assert [
        (*tier, f"{rate:.4g}", calibrate.used_as(rate))
        for tier in tiers
        for rate in calibrate.RATES
    ] == [
        (row["kind"], row["per_day"], row["false_alarms_per_series_year"], row["used_as"])
        for row in TABLE
    ]


@pytest.mark.parametrize("column", ["slow", "fast"])
def test_fewer_false_alarms_take_higher_limits(column: str) -> None:
    for one, other in pairwise(TABLE):
        if (one["kind"], one["per_day"]) == (other["kind"], other["per_day"]):
            assert float(one[column]) <= float(other[column])


def test_between_tiers_a_limit_is_in_between_and_beyond_them_it_is_that_of_the_last() -> None:
    five, between, twenty = (
        float(thresholds.limits(False, np.array([volume])).slow[0]) for volume in (5, 9, 20)
    )

    assert min(five, twenty) < between < max(five, twenty)
    assert five == float(thresholds.limits(False, np.array([0.1])).slow[0])


def test_a_series_without_a_volume_has_no_limit() -> None:
    assert np.isnan(thresholds.limits(True, np.array([np.nan])).slow[0])
