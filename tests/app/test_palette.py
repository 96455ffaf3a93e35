"""Colours that everyone can tell apart, light and dark."""

from __future__ import annotations

import tomllib
from itertools import combinations, pairwise
from pathlib import Path

import pytest

import queries
from app import palette
from app.palette import DARK, LIGHT, Palette
from tests.app.colour_sight import contrast, distance, lightness

CONFIG = Path(__file__).parents[2] / ".streamlit" / "config.toml"
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def test_the_distance_is_that_of_the_search_that_found_the_colours() -> None:
    assert 0.0 == distance("#257DDA", "#257DDA")
    assert 12.0 == pytest.approx(distance("#8B1C46", "#0A605B"), abs=0.05)
    assert 11.4 == pytest.approx(distance("#9A436E", "#377F5D"), abs=0.05)


def test_areas_are_those_of_the_queries_in_their_order() -> None:
    assert queries.AREAS == palette.AREA_ORDER
    assert set(queries.AREAS) == set(LIGHT.areas) == set(DARK.areas)


@THEMES
def test_neighbours_in_a_stack_can_be_told_apart_by_everyone(theme: Palette) -> None:
    colours = list(dict.fromkeys(theme.areas[area] for area in palette.AREA_ORDER))

    assert [] == [(a, b) for a, b in pairwise(colours) if distance(a, b) < 11]


@THEMES
def test_any_two_areas_can_be_told_apart_by_everyone(theme: Palette) -> None:
    colours = set(theme.areas.values())

    assert [] == [(a, b) for a, b in combinations(colours, 2) if distance(a, b) < 11]


@THEMES
def test_areas_of_one_colour_differ_in_their_pattern(theme: Palette) -> None:
    looks = [(theme.areas[area], palette.AREA_PATTERN.get(area, "")) for area in palette.AREA_ORDER]

    assert len(set(looks)) == len(looks)


@THEMES
def test_text_and_status_colours_are_readable(theme: Palette) -> None:
    for colour in (theme.text, theme.muted):
        assert contrast(colour, theme.background) >= 4.5
        assert contrast(colour, theme.surface) >= 4.5
    for colour in (theme.good, theme.warn, theme.bad):
        assert contrast(colour, theme.background) >= 4.1


@THEMES
def test_what_streamlit_writes_paler_in_tables_is_readable_too(theme: Palette) -> None:
    """Heads of columns, and the column that stays in place: six tenths of the text's colour."""
    for behind in (theme.background, theme.surface):
        assert contrast(_over(theme.text, behind, 0.6), behind) >= 4.5


@THEMES
def test_text_on_a_fill_is_readable(theme: Palette) -> None:
    for fill in theme.areas.values():
        assert contrast(palette.readable_on(fill), fill) >= 4.5


@THEMES
def test_any_two_attributions_can_be_told_apart_by_everyone(theme: Palette) -> None:
    pairs = combinations(theme.attributions.values(), 2)

    assert [] == [(a, b) for a, b in pairs if distance(a, b) < 11]


@THEMES
def test_statuses_can_be_told_apart_by_everyone(theme: Palette) -> None:
    pairs = combinations((theme.good, theme.warn, theme.bad), 2)

    assert [] == [(a, b) for a, b in pairs if distance(a, b) < 9.5]


@THEMES
def test_the_ramp_goes_from_the_background_in_equal_steps(theme: Palette) -> None:
    levels = [lightness(colour) for colour in theme.sequential]
    steps = [abs(after - before) for before, after in pairwise(levels)]

    assert 10 == len(levels)
    assert abs(levels[0] - lightness(theme.background)) < 9
    assert (max(steps), min(steps)) == (pytest.approx(7.4, abs=0.3), pytest.approx(7.1, abs=0.3))
    assert levels in (sorted(levels), sorted(levels, reverse=True))


@THEMES
def test_steps_of_the_ramp_can_be_told_apart_by_everyone(theme: Palette) -> None:
    assert [] == [(a, b) for a, b in pairwise(theme.sequential) if distance(a, b) < 4.5]


@THEMES
def test_numbers_on_the_ramp_are_readable(theme: Palette) -> None:
    for fill in theme.sequential:
        assert contrast(palette.readable_on(fill), fill) >= 4.5


@THEMES
def test_lines_stand_out_from_the_background(theme: Palette) -> None:
    for line in (theme.area("effective"), theme.area("trainer_init"), theme.comparison):
        assert contrast(line, theme.background) >= 3


def test_streamlit_has_the_same_colours() -> None:
    themes = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["theme"]
    for theme in (LIGHT, DARK):
        settings = themes[theme.name]

        assert (
            theme.background,
            theme.surface,
            theme.text,
            theme.good,
            theme.warn,
            theme.bad,
            theme.areas["effective"],
        ) == tuple(
            settings[name]
            for name in (
                "backgroundColor",
                "secondaryBackgroundColor",
                "textColor",
                "greenColor",
                "orangeColor",
                "redColor",
                "blueColor",
            )
        )


def test_nothing_is_fetched_for_a_theme() -> None:
    assert "://" not in CONFIG.read_text(encoding="utf-8")


def _over(colour: str, behind: str, share: float) -> str:
    parts = (
        share * int(colour[at : at + 2], 16) + (1 - share) * int(behind[at : at + 2], 16)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{round(part):02X}" for part in parts)
