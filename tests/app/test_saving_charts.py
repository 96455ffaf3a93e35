"""Frames of saves to figures: curves, marks and bars say what was put in."""

from __future__ import annotations

import math
from datetime import date, timedelta
from urllib.parse import unquote

import numpy as np
import polars as pl
import pytest

from app import words
from app.charts.saving import Saving, agreement, costs_by_day, explorer, interval_bar
from app.palette import DARK, LIGHT, translucent

FIRST = date(2026, 3, 1)


def days(*pairs: tuple[float | None, float | None], incomplete: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": pl.Series(
                [FIRST + timedelta(days=place) for place in range(len(pairs))], dtype=pl.Date
            ),
            "is_complete": pl.Series(
                [place < len(pairs) - incomplete for place in range(len(pairs))], dtype=pl.Boolean
            ),
            "unsaved_hours": pl.Series([pair[0] for pair in pairs], dtype=pl.Float64),
            "blocked_hours": pl.Series([pair[1] for pair in pairs], dtype=pl.Float64),
        }
    )


def curves(saving: Saving) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    return {each.name: np.array(each.y) for each in explorer(saving, LIGHT, 420).data}


def test_ticks_of_a_small_loss_are_named_apart() -> None:
    figure = explorer(Saving(0.5, 0.1, 3600, 1800), LIGHT, 420)

    assert "~%" == figure.layout.yaxis.tickformat


def test_the_thick_curve_is_the_sum_of_the_other_two() -> None:
    drawn = curves(Saving(15, 3, 3600, 1800))

    assert np.allclose(
        drawn["both together"], drawn["discarded by interruptions"] + drawn["blocked by saves"]
    )


def test_the_marks_stand_on_the_curve() -> None:
    drawn = curves(Saving(15, 3, 3600, 1800))

    assert pytest.approx([0.032275, 0.066667], abs=1e-6) == drawn["marks"].tolist()


def test_best_chosen_and_measured_are_told_in_words() -> None:
    notes = [
        note.text for note in explorer(Saving(15, 3, 3600, 1800), LIGHT, 420).layout.annotations
    ]

    assert "best 15 min 30 s: 3.23 %" in notes
    assert "measured 30 min" in notes
    assert "<b>1 h: 6.67 %</b>" in notes


def test_the_soft_band_is_a_quarter_to_both_sides_of_the_best() -> None:
    [band] = [
        each
        for each in explorer(Saving(15, 3, 3600, None), LIGHT, 420).layout.shapes
        if each.type == "rect"
    ]

    assert pytest.approx((0.75 * 929.516, 1.25 * 929.516), abs=0.01) == (band.x0, band.x1)


def test_an_interval_that_nobody_measured_is_not_drawn() -> None:
    figure = explorer(Saving(15, 3, 3600, None), LIGHT, 420)

    assert not any("measured" in note.text for note in figure.layout.annotations)


@pytest.mark.parametrize("saving", [Saving(300, 0.1, 60, 1.0), Saving(0.5, 50, 14400, 5e5)])
def test_the_axis_reaches_every_mark(saving: Saving) -> None:
    low, high = explorer(saving, DARK, 420).layout.xaxis.range

    for mark in (saving.best, saving.interval, saving.measured or 60.0):
        assert low - 1e-9 <= np.log10(mark) <= high + 1e-9


@pytest.mark.parametrize(
    ("measured", "side"), [(30.0, "left"), (60.0, "left"), (1800.0, "center"), (86400.0, "right")]
)
def test_a_text_above_an_end_of_the_axis_stands_within_it(measured: float, side: str) -> None:
    figure = explorer(Saving(600, 0.05, 86400, measured), LIGHT, 420)
    [told] = [note for note in figure.layout.annotations if "measured" in note.text]

    assert side == told.xanchor


def test_a_day_that_is_not_complete_is_left_off_the_lines() -> None:
    figure = costs_by_day(days((1, 2), (3, 4), incomplete=1), days(), "GPU-hours", LIGHT, 280)

    assert [[1.0], [2.0]] == [list(each.y) for each in figure.data]


def test_where_no_day_is_complete_the_lines_show_what_the_page_speaks_of() -> None:
    figure = costs_by_day(days((1, 2), incomplete=1), days(), "GPU-hours", LIGHT, 280)

    assert [[1.0], [2.0]] == [list(each.y) for each in figure.data]
    assert {"unsaved", "blocked"} == {note.text for note in figure.layout.annotations}


def test_the_two_lines_differ_in_dash_and_are_named() -> None:
    figure = costs_by_day(days((1, 2), (3, 4)), days((5, 6), (7, 8)), "GPU-hours", LIGHT, 280)

    assert ["solid", "dash", "solid", "dash"] == [each.line.dash for each in figure.data]
    assert {"unsaved", "blocked"} == {note.text for note in figure.layout.annotations}


def test_no_day_draws_without_error() -> None:
    costs_by_day(days(), days(), "hours", DARK, 280)
    costs_by_day(days((None, None)), days(), "hours", DARK, 280)


def test_measured_is_solid_and_modelled_pale() -> None:
    rows = pl.DataFrame(
        {
            "area": ["unsaved", "unsaved"],
            "kind": ["measured", "modelled"],
            "hours": [2.0, 1.0],
            "text": ["2.0", "1.0"],
        }
    )
    [bars] = agreement(rows, LIGHT).data

    assert ("2.0", "1.0") == tuple(bars.text)
    assert bars.marker.color[0] != bars.marker.color[1]


def test_the_small_picture_has_a_dot_right_of_its_tick_where_saves_are_too_rare() -> None:
    rare, often = (unquote(interval_bar(measured, 900.0, LIGHT)) for measured in (3600.0, 60.0))

    assert place(rare, 'cx="') > place(rare, 'stroke-width="2"/><line x1="')
    assert place(often, 'cx="') < place(often, 'stroke-width="2"/><line x1="')


def place(picture: str, before: str) -> float:
    return float(picture.rpartition(before)[2].partition('"')[0])


@pytest.mark.parametrize(
    ("interval", "anchor"), [(930, "center"), (600, "center"), (60, "left"), (7200, "right")]
)
def test_what_the_chosen_interval_loses_stands_inside_of_the_curve(
    interval: float, anchor: str
) -> None:
    saving = Saving(15, 3, interval, None)  # best: 15 min 30 s
    (note,) = [
        each
        for each in explorer(saving, LIGHT, 420).layout.annotations
        if each.text.startswith(f"<b>{words.duration(interval)}: ")
    ]

    assert anchor == note.xanchor
    assert (note.ay or note.y) > 1.3 * saving.wasted(saving.best)
    # wherever it stands, it says of which point it is
    assert (math.log10(interval), saving.wasted(interval)) == pytest.approx((note.x, note.y))


@pytest.mark.parametrize("interval", [930, 1680, 7200])
def test_no_line_crosses_what_the_chosen_interval_loses(interval: float) -> None:
    figure = explorer(Saving(15, 3, interval, 1500), LIGHT, 420)
    (note,) = [each for each in figure.layout.annotations if each.text.startswith("<b>")]

    assert translucent(LIGHT.background, 0.85) == note.bgcolor
    assert {"below"} == {shape.layer for shape in figure.layout.shapes}
