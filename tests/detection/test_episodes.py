"""One series: what is usual, when it is left, and when it is back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.series_fleets import BEGINS, Step, World, events, latencies
from queries.detection import baseline, cusum, episodes, grouping, method
from queries.detection.episodes import Ending, Episode, history
from queries.detection.grouping import Change
from queries.detection.series import FLEET, Panel

DAYS, FIRST = 230, 196
PARTS = ("value", "weight", "squares", "told_total", "told_exposure", "told_rows", "gpu_seconds")
CLEAR = World(outlier_share=0.0, missing_share=0.0)


def changed(step: Step, days: int = DAYS, world: World = CLEAR, series: int = 12) -> list[Episode]:
    panel = latencies(8, series, days, 40.0, world, step)
    return [each for each in history(panel).episodes if each.sign == 1 and each.found >= FIRST]


def test_a_step_is_found_once_in_every_series_and_near_its_day() -> None:
    found = changed(Step(FIRST, 1.4))

    assert list(range(12)) == [each.row for each in found]
    assert all(abs(each.onset - FIRST) <= 2 for each in found)
    assert all(each.opened is not None and each.opened - FIRST <= 10 for each in found)
    assert all(each.closed is None for each in found)


def test_a_change_that_goes_away_is_over_on_its_last_day() -> None:
    found = changed(Step(FIRST, 1.6, lasts=12))

    assert [Ending.RECOVERED] * 12 == [each.ending for each in found]
    assert all(each.last is not None and abs(each.last - FIRST - 11) <= 2 for each in found)
    assert all(each.closed is not None and each.closed <= FIRST + 20 for each in found)


def test_a_series_that_falls_silent_while_changed_is_over_where_it_fell_silent() -> None:
    panel = latencies(8, 3, DAYS + 30, 40.0, CLEAR, Step(FIRST, 1.6))
    weight = panel.weight.copy()
    weight[:, FIRST + 15 :] = 0
    found = [each for each in history(replace(panel, weight=weight)).episodes if each.sign == 1]

    assert [(Ending.SILENT, FIRST + 14)] * 3 == [(each.ending, each.last) for each in found]


def test_what_lasts_a_quarter_becomes_the_usual_level() -> None:
    found = changed(Step(FIRST, 1.6), days=FIRST + method.NEW_LEVEL_DAYS + 40)

    assert {Ending.NEW_LEVEL} == {each.ending for each in found}
    assert 12 == len(found)


def test_a_change_that_is_back_within_a_week_was_never_over() -> None:
    first = latencies(8, 6, DAYS, 40.0, CLEAR, Step(FIRST, 2.0, lasts=10))
    again = latencies(8, 6, DAYS, 40.0, CLEAR, Step(FIRST, 2.0))
    later = np.arange(DAYS) >= FIRST + 15
    panel = replace(first, value=np.where(later, again.value, first.value))
    found = [each for each in history(panel).episodes if each.sign == 1 and each.found >= FIRST]

    assert 6 == len(found)
    assert all(each.closed is None and abs(each.onset - FIRST) <= 2 for each in found)


def test_a_change_that_is_seen_to_have_begun_before_what_was_over_is_told_once() -> None:
    panel = latencies(9, 100, DAYS, 20.0, CLEAR, Step(FIRST, 1.2))
    found = [each for each in history(panel).of_row(28) if each.found >= FIRST]

    # there were days between as good as before
    assert [(195, 200, None)] == [(each.onset, each.found, each.last) for each in found]


def test_one_day_out_of_place_opens_nothing() -> None:
    assert [] == [each for each in changed(Step(FIRST, 5.0, lasts=1)) if each.opened is not None]


def test_the_first_days_of_a_series_are_not_judged() -> None:
    panel = latencies(8, 4, 62, 40.0, CLEAR, Step(50, 3.0))

    assert np.isnan(history(panel).opening).all()


def test_a_wave_of_events_is_found_and_over() -> None:
    wave = events(4, 8, DAYS + 60, 1.0, CLEAR, 8.0, FIRST)
    calm = events(4, 8, DAYS + 60, 1.0, CLEAR)
    after = np.arange(DAYS + 60) >= FIRST + 14
    panel = replace(wave, value=np.where(after, calm.value, wave.value))
    found = [each for each in history(panel).episodes if each.sign == 1 and each.found >= FIRST]

    assert 8 == len([each for each in found if each.opened is not None])
    assert {Ending.RECOVERED} == {each.ending for each in found}


def test_a_history_cut_short_tells_the_same_up_to_there() -> None:
    panel = latencies(8, 12, DAYS, 40.0, World(), Step(FIRST, 1.4))
    whole, opened = history(panel), {}
    for through in (FIRST + 5, FIRST + 12, FIRST + 25):
        for each in history(first_days(panel, through)).episodes:
            opened.setdefault((each.row, each.onset, each.found), set()).add(each.opened)
    told = {(each.row, each.onset, each.found): each.opened for each in whole.episodes}

    assert opened
    for key, days in opened.items():
        assert days - {None} <= {told[key]}


@pytest.mark.parametrize("ahead", [method.WEEK, 5 * method.WEEK])
def test_how_far_is_judged_before_looking_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    days = 3 * method.BASELINE_DAYS
    panels = [latencies(seed, 8, days, 40.0, World()) for seed in range(3)]
    panels += [events(seed, 8, days, 3.0, World()) for seed in range(3)]
    for each in panels:
        for row in range(8):  # worse for a while, then at two levels for good
            each.value[row, 190 + 9 * row : 215 + 12 * row] *= 3
            each.value[row, 350 + 5 * row :] *= 2 if row % 2 else 0.5

    monkeypatch.setattr(episodes, "_AHEAD_DAYS", days)
    whole = [history(each) for each in panels]
    monkeypatch.setattr(episodes, "_AHEAD_DAYS", ahead)
    found = [history(each) for each in panels]

    assert [each.episodes for each in whole] == [each.episodes for each in found]
    assert all(
        np.array_equal(a.opening, b.opening, equal_nan=True)
        for a, b in zip(whole, found, strict=True)
    )
    assert all(
        np.array_equal(a.suspicion, b.suspicion, equal_nan=True)
        for a, b in zip(whole, found, strict=True)
    )
    assert 3 <= min(len(each.episodes) for each in whole)
    assert {-1, 1} == {each.sign for told in whole for each in told.episodes}


def test_no_value_of_the_last_three_weeks_moves_the_baseline() -> None:
    panel = latencies(8, 4, DAYS, 40.0, CLEAR)
    moved = replace(panel, value=panel.value + 5.0 * (np.arange(DAYS) >= DAYS - 21))
    one, other = (history_of_last_week(each) for each in (panel, moved))

    assert one.level.tolist() == other.level.tolist()
    assert one.scale.tolist() == other.scale.tolist()


def test_a_weekday_that_is_always_slow_is_not_slow() -> None:
    panel = latencies(8, 4, DAYS, 40.0, replace(CLEAR, weekday_spread=0.0))
    mondays = replace(panel, value=panel.value + 0.5 * (np.arange(DAYS) % 7 == 0))
    learnt = history_of_last_week(mondays)

    assert learnt.weekday[:, 0] - learnt.weekday[:, 1:].mean(axis=1) == pytest.approx(0.5, abs=0.1)


def test_days_that_resemble_the_last_count_for_less() -> None:
    forgetful, sticky = (
        float(
            history_of_last_week(
                latencies(8, 40, DAYS, 400.0, replace(CLEAR, memory=memory))
            ).stretch.mean()
        )
        for memory in (0.0, 0.7)
    )

    assert forgetful < 1.2 < 1.3 < sticky


def test_a_day_of_few_jobs_is_judged_less_sharply() -> None:
    panel = latencies(8, 1, DAYS, 40.0, CLEAR)
    weight = panel.weight.copy()
    weight[0, -1] = 2.0
    seen = history(replace(panel, weight=weight)).newest().scores

    assert seen.precision[0, -1] < 0.2 * np.median(seen.precision[0, -60:])


def history_of_last_week(panel: Panel) -> baseline.Baseline:
    first = cusum.week_of(panel.days - 1)
    block = cusum.padded(panel, slice(None))
    return baseline.fit(cusum.piece(block, first, first + method.BASELINE_DAYS))


def first_days(panel: Panel, days: int) -> Panel:
    part = slice(0, days)
    return replace(
        panel,
        begins=BEGINS,
        value=panel.value[:, part],
        weight=panel.weight[:, part],
        squares=panel.squares[:, part],
        told_total=panel.told_total[:, part],
        told_exposure=panel.told_exposure[:, part],
        told_rows=panel.told_rows[:, part],
        gpu_seconds=panel.gpu_seconds[:, part],
    )


def test_a_series_that_fell_silent_is_traced_without_a_word() -> None:
    panel = latencies(3, 1, 150, 20.0, World())
    panel.weight[:, 120:] = 0.0
    traced = history(panel).traced(0, 149)

    assert traced.last is None or traced.last < 150


def test_no_team_carries_a_change_of_the_fleet_on_days_on_which_none_has_an_event() -> None:
    teams = events(4, 1, 150, 2.0, World())
    teams.value[:, 140:] = 0.0
    panel = replace(
        teams,
        keys=(*teams.keys, (FLEET, "failures")),
        **{name: np.vstack([getattr(teams, name)] * 2) for name in PARTS},
    )
    told = history(panel)
    change = Change(FLEET, "failures", Episode(1, 1, onset=141, found=145, opened=145), told)

    assert (None, np.inf) == grouping._carrier(change)
