"""The small line under a number: a gap stays a gap, bars stand on nought, a value is told."""

from __future__ import annotations

import re
from urllib.parse import unquote

from app import words
from app.sparkline import sparkline


def drawn(*series: float | None, bars: bool = False) -> str:
    return unquote(sparkline(series, "#0B7A75", words.ratio, bars=bars))


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", text)]


def heights(picture: str) -> list[float]:
    return [y for line in re.findall("<polyline points='([^']+)'", picture) for y in numbers(line)][
        1::2
    ]


def test_the_lowest_day_is_at_the_bottom_and_the_highest_at_the_top() -> None:
    assert [49.0, 3.0, 26.0, 26.0] == heights(drawn(0.5, 1.0, 0.75))


def test_a_day_without_a_number_is_a_gap() -> None:
    assert 2 == drawn(0.5, 0.75, None, 1.0, 0.75).count("<polyline")


def test_a_day_alone_is_a_dot() -> None:
    picture = drawn(None, 0.5, None)

    assert "<polyline points='100.0,26.0 100.0,26.0'" in picture
    assert "stroke-width='5'" in picture
    assert "stroke-width='5'" not in drawn(0.5, 0.6)


def test_a_series_that_does_not_move_is_level() -> None:
    assert [26.0, 26.0, 26.0] == heights(drawn(0.5, 0.5))


def test_bars_stand_on_nought_and_hang_from_it() -> None:
    bars = re.findall(r"y='([\d.]+)' width='[\d.]+' height='([\d.]+)'", drawn(1.0, -1.0, bars=True))

    assert [("3.0", "23.0"), ("26.0", "23.0")] == bars


def test_the_bar_of_a_day_alone_is_no_wider_than_a_bar() -> None:
    assert ("94.0", "12.0") == re.findall(
        r"x='([\d.]+)' .* width='([\d.]+)'", drawn(1.0, bars=True)
    )[0]


def test_each_day_tells_its_value_and_a_gap_tells_nothing() -> None:
    assert ["92.4 %", ""] == re.findall('title="([^"]*)"', drawn(0.924, None))


def test_what_is_told_is_text() -> None:
    told = sparkline([1.0], "#0B7A75", lambda _: '"><script>', bars=False)

    assert "<script>" not in told
