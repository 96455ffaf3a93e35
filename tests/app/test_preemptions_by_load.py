"""The line through preemption ratio and load: exact where the days lie on one, null without one."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from tests.app.macros import macros, rows

LAST = date(2026, 3, 31)


def days(loads: list[int], ratios: list[float], ended: int = 1000) -> pl.DataFrame:
    """Days up to LAST with so many jobs running and so large a ratio."""
    first = LAST - timedelta(days=len(loads) - 1)
    return pl.DataFrame(
        {
            "team": "fleet",
            "workload": "all",
            "day": [first + timedelta(days=place) for place in range(len(loads))],
            "is_complete": True,
            "jobs_running": loads,
            "attempts_ended": ended,
            "preempted": [round(ratio * ended) for ratio in ratios],
            "preemption_ratio": ratios,
        }
    )


def fitted(frame: pl.DataFrame) -> list[dict[str, Any]]:
    with macros({"team_day": frame}, "preemptions_by_load") as connection:
        return rows(
            connection,
            "from preemptions_by_load('fleet', 'all', $1, $2) order by day",
            LAST - timedelta(days=89),
            LAST,
        )


def test_days_on_a_line_give_that_line() -> None:
    loads = list(range(40, 60))
    found = fitted(days(loads, [0.002 * load for load in loads]))

    assert pytest.approx(0.002) == found[0]["ratio_per_job"]
    assert pytest.approx([0.002 * load for load in loads]) == [row["fitted_ratio"] for row in found]
    assert pytest.approx(0, abs=1e-9) == found[0]["recent_distance_ratio"]


def test_the_last_seven_days_do_not_bend_the_line() -> None:
    loads = list(range(40, 60))
    found = fitted(days(loads, [0.002 * load for load in loads[:13]] + [0.5] * 7))

    assert 7 == sum(row["is_recent"] for row in found)
    assert pytest.approx(0.002) == found[0]["ratio_per_job"]
    assert pytest.approx(0.5 - 0.002 * 56) == found[0]["recent_distance_ratio"]


def test_a_day_weighs_what_ended_on_it() -> None:
    quiet = days([40] * 7 + [60] * 8 + [50] * 7, [0.0] * 7 + [0.1] * 8 + [0.0] * 7)
    day = pl.col("day") == quiet["day"][14]
    with_a_tiny_day = quiet.with_columns(
        attempts_ended=pl.when(day).then(1).otherwise("attempts_ended"),
        preempted=pl.when(day).then(1).otherwise("preempted"),
        preemption_ratio=pl.when(day).then(1.0).otherwise("preemption_ratio"),
    )

    assert pytest.approx(0.005, rel=0.02) == fitted(with_a_tiny_day)[0]["ratio_per_job"]


@pytest.mark.parametrize(
    "frame",
    [
        days(list(range(13)), [0.1] * 13),  # six days before the last seven
        days([50] * 20, [0.1] * 20),  # always the same load
    ],
)
def test_where_no_line_can_be_drawn_there_is_none(frame: pl.DataFrame) -> None:
    assert {None} == {row["fitted_ratio"] for row in fitted(frame)}
