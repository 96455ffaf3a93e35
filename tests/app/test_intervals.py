"""The model of checkpoint intervals gives the figures of METRICS.md section 3 exactly."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import intervals

BLOCKED, PER_DAY = 15.0, 3.0  # the scenario of the source's figure 7


def test_the_best_interval_of_the_scenario() -> None:
    best = intervals.best_interval(BLOCKED, PER_DAY)

    assert 929.516 == round(best, 3)
    assert 0.032275 == round(intervals.wasted_ratio(best, BLOCKED, PER_DAY), 6)


@pytest.mark.parametrize(
    ("minutes", "percent"), [(5, 5.521), (10, 3.542), (30, 3.958), (60, 6.667)]
)
def test_what_an_interval_of_the_scenario_loses(minutes: int, percent: float) -> None:
    assert percent == round(100 * intervals.wasted_ratio(minutes * 60, BLOCKED, PER_DAY), 3)


@given(blocked=st.floats(0.5, 300), per_day=st.floats(0.1, 50))
def test_half_and_double_the_best_both_cost_a_quarter_more(blocked: float, per_day: float) -> None:
    best = intervals.best_interval(blocked, per_day)
    least = intervals.wasted_ratio(best, blocked, per_day)

    for factor in (0.5, 2.0):
        assert math.isclose(1.25 * least, intervals.wasted_ratio(best * factor, blocked, per_day))


@given(st.floats(0.5, 300), st.floats(0.1, 50), st.floats(1, 1e5))
def test_no_interval_is_better_than_the_best(blocked: float, per_day: float, other: float) -> None:
    least = intervals.wasted_ratio(intervals.best_interval(blocked, per_day), blocked, per_day)

    assert least <= intervals.wasted_ratio(other, blocked, per_day) * (1 + 1e-12)


@given(blocked=st.floats(0.5, 60), expected=st.floats(0.001, 5), interval=st.floats(600, 14400))
def test_the_share_is_never_less_than_what_random_interruptions_cost(
    blocked: float, expected: float, interval: float
) -> None:
    """An interval that is not interrupted takes (exp(x) - 1) / x of its time on the average."""
    per_day = expected * intervals.DAY / interval
    true = 1 - (1 - blocked / interval) * expected / math.expm1(expected)
    told = intervals.wasted_ratio(interval, blocked, per_day)

    assert true <= told <= 1
    assert intervals.is_coarse(interval, per_day) or told < 1.27 * true
    assert expected > 0.1 or told < 1.04 * true


def test_nothing_loses_more_than_all_of_it() -> None:
    assert (1, 1) == (intervals.wasted_ratio(14400, 15, 50), intervals.wasted_ratio(60, 300, 1))
    assert (1, 1) == (intervals.unsaved_ratio(14400, 50), intervals.blocked_ratio(60, 300))


def test_the_steps_hold_what_a_person_would_name() -> None:
    assert {5, 10, 15, 30, 45, 60, 90, 120, 240} <= set(intervals.steps(1, 240))
    assert {0.5, 1, 15, 20, 300} <= set(intervals.steps(0.5, 300))
    assert {0.1, 3, 50} <= set(intervals.steps(0.1, 50))


def test_the_steps_end_where_they_should_and_are_close() -> None:
    steps = intervals.steps(0.5, 300)

    assert (0.5, 300) == (steps[0], steps[-1])
    assert max(after / before for before, after in pairwise(steps)) < 1.11


@pytest.mark.parametrize("measured", [3e-5, 0.0834, 0.1, 2.0, 50, 51, 86400])
def test_the_steps_hold_what_was_measured_wherever_it_lies(measured: float) -> None:
    steps = intervals.steps_around(measured, 0.1, 50)

    assert abs(intervals.nearest(measured, steps) / measured - 1) < 0.06
    assert max(after / before for before, after in pairwise(steps)) < 1.11
    assert set(intervals.steps(0.1, 50)) <= set(steps)


def test_where_nothing_was_measured_the_steps_are_the_usual_ones() -> None:
    usual = intervals.steps(0.1, 50)

    assert usual == intervals.steps_around(None, 0.1, 50) == intervals.steps_around(0.0, 0.1, 50)
    assert usual == intervals.steps_around(0.7, 0.1, 50)


def test_the_nearest_step_is_nearest_by_ratio() -> None:
    assert 10 == intervals.nearest(9.9, [1, 10, 100])
    assert 1 == intervals.nearest(0.0001, [1, 10, 100])
    assert 100 == intervals.nearest(1e9, [1, 10, 100])
