"""Numbers, times and hostile text as words."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

import pytest

from app import words
from tests.app.serving import FORMULA, HOSTILE


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "\u2013"),
        (0, "0 s"),
        (-1e-12, "0 s"),
        (0.0000004, "0 s"),
        (0.000012, "12 \u00b5s"),
        (0.25, "250 ms"),
        (0.9996, "1.0 s"),
        (9.9, "9.9 s"),
        (59.4, "59 s"),
        (59.7, "1 min"),
        (252, "4 min 12 s"),
        (3599.8, "1 h"),
        (3600 * 2 + 60 * 5, "2 h 5 min"),
        (86400 * 3 + 3600 * 4, "3 d 4 h"),
        (-90, "-1 min 30 s"),
    ],
)
def test_durations_have_their_two_largest_units(seconds: float | None, shown: str) -> None:
    assert shown == words.duration(seconds)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(-241, "-4.0 min"), (45, "45 s"), (5400, "1.5 h"), (86400, "1.0 d")]
)
def test_a_difference_of_durations_has_one_unit(seconds: float, shown: str) -> None:
    assert shown == words.duration(seconds, units=1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\u2013"),
        (0, "0"),
        (0.44, "0.4"),
        (99.96, "100"),
        (999.4, "999"),
        (999.6, "1.0k"),
        (12_400, "12.4k"),
        (412_000, "412k"),
        (999_600, "1.0M"),
        (-1_260, "-1.3k"),
        (-0.04, "0.0"),  # no sign of what is rounded away
    ],
)
def test_large_numbers_have_three_figures(value: float | None, shown: str) -> None:
    assert shown == words.compact(value)


def test_a_difference_of_hours_has_a_sign_unless_it_is_nothing() -> None:
    shown = [words.more_hours(hours * 3600) for hours in (1.5, -1.5, 0.02, -0.02, 0)]

    assert ["+1.5", "-1.5", "0.0", "0.0", "0"] == shown


@pytest.mark.parametrize(
    ("change", "digits", "shown"),
    [(0.0, 0, "0"), (-0.004, 2, "0.00"), (0.02, 2, "+0.02"), (-1284.0, 0, "-1,284")],
)
def test_a_difference_of_numbers_has_a_sign_unless_it_is_nothing(
    change: float, digits: int, shown: str
) -> None:
    assert shown == words.more(change, digits)


def test_ratios_and_their_differences() -> None:
    assert "92.4 %" == words.ratio(0.924)
    assert ("0 %", "0.0 %", "-1 %") == (
        words.ratio(-0.004, 0),
        words.ratio(-1e-9),
        words.ratio(-0.006, 0),
    )
    assert "-1.8 pp" == words.points(-0.018)
    assert "+0.6 pp" == words.points(0.006)
    assert "0.0 pp" == words.points(-0.0001)
    assert "\u2013" == words.ratio(None) == words.points(None)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.9, "90 %"), (0.925, "92.5 %"), (0.999, "99.9 %"), (1, "100 %"), (0.0705, "7.05 %")],
)
def test_a_target_keeps_the_digits_that_it_was_set_with(value: float, shown: str) -> None:
    assert shown == words.target(value)


def test_midnight_belongs_to_the_day_that_ends() -> None:
    assert "Tue 3 Mar, 24:00" == words.instant(datetime(2026, 3, 4))
    assert "Wed 4 Mar, 00:01" == words.instant(datetime(2026, 3, 4, 0, 1))


def test_days_name_their_years_only_where_they_differ() -> None:
    assert "4 Feb to 3 Mar" == words.days(date(2026, 2, 4), date(2026, 3, 3))
    assert "4 Dec 2025 to 3 Jan 2026" == words.days(date(2025, 12, 4), date(2026, 1, 3))
    assert "Tue 3 Mar" == words.days(date(2026, 3, 3), date(2026, 3, 3))


@pytest.mark.parametrize(
    ("passed", "shown"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=47), "47 h ago"),
        (timedelta(days=3, hours=1), "3 d ago"),
    ],
)
def test_ages_are_in_one_unit(passed: timedelta, shown: str) -> None:
    assert shown == words.age(passed)


def test_markdown_shows_exactly_the_text() -> None:
    assert "` **b** ![x](http://e.x) `" == words.code("**b** ![x](http://e.x)")
    assert "``` a``b ```" == words.code("a``b")
    assert "` a b `" == words.code("a\n\u202eb")
    assert "` (empty) `" == words.code(" ")


def test_a_name_that_looks_like_an_icon_stays_text() -> None:
    # streamlit turns this into `:material_home:`, within code too
    assert not any(":material/" in shown(":material/home:") for shown in (words.code, words.prose))
    assert "` :\u2060material/home: `" == words.code(":material/home:")


@pytest.mark.parametrize("text", ["http://evil.test/x", "WWW.evil.test", "a@evil.test"])
def test_an_address_within_a_sentence_is_no_link(text: str) -> None:
    shown = words.prose(text)

    assert text == shown.replace("\u2060", "").replace("\\", "")
    # as GitHub's Markdown finds them, in what is left once escapes are read
    assert not re.search(r"https?://|www\.|\w@\w", shown.replace("\\", ""), re.IGNORECASE)


def test_long_text_is_cut() -> None:
    assert "aaaa\u2026" == words.clipped("a" * 9, 5)


def test_a_figure_reads_no_markup() -> None:
    assert "<" not in words.figure(HOSTILE)
    assert "&lt;b&gt; &amp;amp;" == words.figure("<b> &amp;")


@pytest.mark.parametrize("text", [HOSTILE, FORMULA, "../../etc/passwd", "", "\x00", "\u202e"])
def test_a_file_name_part_is_harmless(text: str) -> None:
    slug = words.slug(text)

    assert slug
    assert slug.replace("-", "").isascii()
    assert slug.replace("-", "").isalnum()
    assert len(slug) <= 40


def test_a_spreadsheet_runs_nothing() -> None:
    assert "'" + FORMULA == words.cell(FORMULA)
    assert "plain" == words.cell("plain")
    assert words.cell(None) is None


def test_the_nearest_option_is_offered_first() -> None:
    assert ["ranking"] == words.nearest("RANKIN", ["feed", "ranking", "ads"])
    assert [] == words.nearest("zzz", ["feed", "ranking", "ads"])
