"""The small line under a number: a gap stays a gap, bars stand on nought, a value is told."""

from __future__ import annotations

import re
from urllib.parse import unquote

from app import words
from app.palette import LIGHT
from app.sparkline import small_team, sparkline


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


def team(*own: float | None, target: float | None = 0.9, alt: str = "ETT of feed") -> str:
    fleet = [0.8] * len(own)
    told = [words.ratio(ratio) for ratio in own]
    return unquote(small_team(own, fleet, target, (0.5, 1.0), LIGHT, told, alt=alt, height=96))


def stroke(picture: str, colour: str) -> list[float]:
    """Heights of the line of this colour, from the top."""
    (points,) = re.findall(f"points='([^']+)' fill='none' stroke='{colour}'", picture)
    return numbers(points)[1::2]


def test_a_team_is_drawn_over_the_fleet_on_the_axis_of_all_teams() -> None:
    picture = team(1.0, 0.75)

    assert [0.0, 48.0, 48.0] == stroke(picture, LIGHT.area("effective"))
    assert [38.4, 38.4, 38.4] == stroke(picture, LIGHT.comparison)
    assert picture.index(LIGHT.comparison) < picture.index(LIGHT.area("effective"))


def test_a_day_below_the_axis_is_drawn_at_its_edge() -> None:
    assert [94.0, 48.0, 48.0] == stroke(team(0.1, 0.75), LIGHT.area("effective"))


def test_the_target_is_dashed_and_only_there_where_one_is_set() -> None:
    assert [19.2, 19.2, 19.2] == stroke(team(1.0), LIGHT.text)
    assert "stroke-dasharray" not in team(1.0, target=None)


def test_a_team_is_named_and_each_of_its_days_is_told() -> None:
    picture = team(0.924, None, alt='"><script>')

    assert ["92.4 %", "\u2013"] == re.findall('title="([^"]*)"', picture)
    assert 'role="img" aria-label="&quot;&gt;&lt;script&gt;"' in picture


def test_a_team_without_days_is_an_empty_figure() -> None:
    assert LIGHT.area("effective") not in team()
    assert "<svg" in team()
