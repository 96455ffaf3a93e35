"""Every figure of every page: plotly knows all that it is given, and its numbers are told too."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import plotly.graph_objects as go
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from app import alts, words
from app.palette import AREA_ORDER, LIGHT
from tests.app.colour_sight import contrast
from tests.app.opening import DATA, JOBS, LOST, PAGES, open_page


def shown(path: str, **parameters: str) -> AppTest:
    return open_page(path, job="stubborn", **parameters)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("team", ["fleet", "feed"])
def test_plotly_knows_every_property_of_a_figure(fleet: Path, path: str, team: str) -> None:
    for chart in shown(path, team=team).get("plotly_chart"):
        go.Figure(json.loads(chart.proto.spec))  # raises where it does not


def test_plotly_knows_every_property_of_the_figure_of_one_area(fleet: Path) -> None:
    for chart in shown(LOST, area="unsaved").get("plotly_chart"):
        go.Figure(json.loads(chart.proto.spec))


@pytest.mark.parametrize("path", [path for path in PAGES if path != JOBS])
def test_a_figure_is_told_with_its_numbers(fleet: Path, path: str) -> None:
    told = [chart.proto.alt for chart in shown(path).get("plotly_chart")]

    assert told
    of_what = re.compile(r"\. (?:Fleet|Job) ")
    assert [] == [
        text for text in told if not re.search(r": (no value|.*\d)", of_what.split(text)[0])
    ]


def test_the_line_of_unaccounted_time_is_where_the_alert_is_set_to(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "ett.toml"
    config.write_text("[alerts]\nunaccounted_ratio = 0.125\n", encoding="utf-8")
    monkeypatch.setenv("ETT_CONFIG", str(config))
    layouts = [json.loads(chart.proto.spec)["layout"] for chart in shown(DATA).get("plotly_chart")]
    notes = [note for layout in layouts for note in layout.get("annotations", [])]
    [line] = [note for note in notes if note.get("text", "").startswith("alarm")]

    assert ("alarm at 12.5 %", 0.125) == (line["text"], line["x"])


@pytest.mark.parametrize("path", [path for path in PAGES if path != JOBS])
def test_what_is_written_beside_the_marks_of_a_figure_is_readable(fleet: Path, path: str) -> None:
    layouts = [json.loads(chart.proto.spec)["layout"] for chart in shown(path).get("plotly_chart")]
    notes = [
        (note["text"], note["font"]["color"])
        for layout in layouts
        for note in layout.get("annotations", [])
        # white is for what stands on a mark: a number in a cell, the cut through a bar
        if note.get("font", {}).get("color", LIGHT.background) != LIGHT.background
    ]

    assert layouts
    assert [] == [
        (text, colour) for text, colour in notes if contrast(colour, LIGHT.background) < 4.5
    ]


def test_days_are_told_by_their_lowest_highest_and_last() -> None:
    days = pl.DataFrame(
        {
            "day": [date(2026, 3, 1), date(2026, 3, 2), date(2026, 3, 3), date(2026, 3, 4)],
            "ett_ratio": [0.9, 0.7, 0.8, None],
        }
    )

    assert (
        "lowest 70.0 % on Mon 2 Mar, highest 90.0 % on Sun 1 Mar, last 80.0 % on Tue 3 Mar"
        == alts.by_day(days, date(2026, 3, 4), "ett_ratio", words.ratio)
    )
    assert "no value" == alts.by_day(days.clear(), date(2026, 3, 4), "ett_ratio", words.ratio)


def test_a_long_list_ends_but_names_every_area() -> None:
    assert "a 1, b 2" == alts.listed([("a", "1"), ("b", "2")])
    assert "more" not in alts.listed([(area, "1") for area in AREA_ORDER])
    assert alts.listed([("x" * 300, "1")] * 20).endswith(", and 4 more")
    assert len(alts.listed([("x" * 300, "1")] * 20)) < 800
