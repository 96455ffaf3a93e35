"""Frames to figures: what is drawn, and what is not."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta

import numpy as np
import plotly.graph_objects as go
import plotly.io
import polars as pl
import pytest

from app.charts import gantt_marks
from app.charts.cascade import cascade, marks_told
from app.charts.gantt import MOST_ATTEMPTS, gantt, is_summed, thinned
from app.charts.moved import moved
from app.charts.shares import unaccounted
from app.charts.trend import bounds, ett_by_day, with_crossings
from app.palette import DARK, LIGHT
from tests.app.serving import HOSTILE

START = datetime(2026, 3, 1)
NO_MARKS = pl.DataFrame(schema={"day": pl.Date, "text": pl.String})


def days(*ratios: float | None, incomplete: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": [date(2026, 3, 1) + timedelta(days=place) for place in range(len(ratios))],
            "ett_ratio": pl.Series(ratios, dtype=pl.Float64),
            "is_complete": [place < len(ratios) - incomplete for place in range(len(ratios))],
        }
    )


def drawn(frame: pl.DataFrame) -> go.Figure:
    return ett_by_day(frame, frame.clear(), NO_MARKS, 0.9, LIGHT, 280)


def trace(figure: go.Figure, name: str) -> go.Scatter:
    return next(each for each in figure.data if each.name == name)


def test_the_target_is_a_labelled_dashed_line() -> None:
    figure = ett_by_day(days(0.95, 0.85), days(1.0).clear(), NO_MARKS, 0.9, LIGHT, 280)

    assert ["dash"] == [shape.line.dash for shape in figure.layout.shapes]
    assert ["target<br>90 %"] == [note.text for note in figure.layout.annotations]


def test_a_figure_is_written_with_lists_so_that_plotly_draws_it_once() -> None:
    written = json.loads(plotly.io.to_json(drawn(days(0.95, None)), validate=False))
    (line,) = [each for each in written["data"] if each.get("name") == "ETT"]

    assert ["2026-03-01", "2026-03-02"] == line["x"]
    assert [0.95, None] == line["y"]
    assert "template" not in written["layout"]
    assert 1 == written["layout"]["datarevision"]


def test_plotly_makes_no_objects_of_a_figure_that_is_only_written() -> None:
    figure = drawn(days(0.95, 0.85))
    figure.to_dict()

    assert "_data" not in vars(figure)


def test_what_is_changed_through_plotly_is_written() -> None:
    figure = drawn(days(0.95, 0.85))
    figure.update_layout(height=99)

    assert 99 == figure.to_dict()["layout"]["height"]


def test_what_is_below_the_target_is_filled_up_to_the_crossing() -> None:
    x, y = with_crossings(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.8, 1.0]), 0.9)

    assert [0.0, 0.5, 1.0, 1.5, 2.0] == x.tolist()
    assert [1.0, 0.9, 0.8, 0.9, 1.0] == y.tolist()


def test_an_incomplete_day_is_hollow_and_off_the_line() -> None:
    figure = drawn(days(0.95, 0.85, 0.4, incomplete=1))

    assert [0.95, 0.85] == list(trace(figure, "ETT").y)
    assert LIGHT.background == trace(figure, "incomplete day").marker.color


def test_a_day_without_attempts_breaks_the_line() -> None:
    figure = ett_by_day(days(0.95, None, 0.85), days(1.0).clear(), NO_MARKS, None, LIGHT, 280)

    assert trace(figure, "ETT").connectgaps is False
    assert np.isnan(trace(figure, "ETT").y[1])


def test_a_day_between_two_without_attempts_is_a_dot_in_a_long_window() -> None:
    line = trace(drawn(days(*[0.9] * 40, None, 0.85, None)), "ETT")

    assert "lines+markers" == line.mode
    assert [41] == [place for place, size in enumerate(line.marker.size) if size]


def test_the_axis_starts_at_60_percent_unless_a_day_is_lower() -> None:
    high, low = (drawn(days(value, 0.95)).layout.yaxis.range[0] for value in (0.8, 0.37))

    assert (0.6, 0.3) == (high, pytest.approx(low))


@pytest.mark.parametrize("frame", [days(0.9).clear(), days(None, None), days(0.9)])
def test_few_days_draw_without_error(frame: pl.DataFrame) -> None:
    ett_by_day(frame, frame, NO_MARKS, 0.9, DARK, 280)


def areas(**amounts: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "area": list(amounts),
            "is_recovery": [False] * len(amounts),
            "amount": list(amounts.values()),
            "text": [f"{amount:g}" for amount in amounts.values()],
            "label": [f"{amount:g} of it" for amount in amounts.values()],
        }
    )


def test_a_cascade_ends_at_what_is_effective() -> None:
    figure = cascade(areas(effective=80.0, scheduling=5.0, unsaved=15.0), LIGHT, "all", "100")
    spans = {bar.y[0]: (bar.base[0], bar.x[0]) for bar in figure.data}

    assert {
        "all": (0.0, 100.0),
        "scheduling": (95.0, 5.0),
        "unsaved": (80.0, 15.0),
        "effective": (0.0, 80.0),
    } == spans


def test_the_label_of_a_bar_of_nearly_everything_stands_within_it() -> None:
    figure = cascade(areas(uninstrumented=100.0), LIGHT, "all", "100")

    assert [(0.0, "left")] == [
        (note.x, note.xanchor) for note in figure.layout.annotations if note.y == "uninstrumented"
    ]


def test_a_cascade_is_in_lifecycle_order_from_the_top() -> None:
    figure = cascade(
        areas(unaccounted=1.0, effective=80.0, uninstrumented=2.0, scheduling=5.0), LIGHT, "all", ""
    )

    assert ("all", "uninstrumented", "scheduling", "unaccounted", "effective") == tuple(
        reversed(figure.layout.yaxis.categoryarray)
    )


def test_recovery_is_hatched_within_its_area() -> None:
    frame = pl.concat(
        [
            areas(scheduling=5.0, effective=90.0),
            areas(scheduling=5.0).with_columns(is_recovery=True),
        ]
    )
    bars = cascade(frame, LIGHT, "all", "").data

    assert [("all", ""), ("scheduling", ""), ("scheduling", "\\"), ("effective", "")] == [
        (bar.y[0], bar.marker.pattern.shape) for bar in bars
    ]


def test_the_marks_of_a_cascade_are_told_where_they_are_drawn_and_only_there() -> None:
    again = areas(scheduling=5.0).with_columns(is_recovery=True)
    slanted = "Slanted lines over start-up: after an interruption."
    cut = "A bar that begins with // is cut at the left."

    assert "" == marks_told(areas(effective=40.0, unsaved=60.0))
    # of the bars, uninstrumented is one
    assert "" == marks_told(areas(effective=29.0, unsaved=1.0, uninstrumented=70.0))
    assert cut == marks_told(areas(effective=90.0, unsaved=10.0))
    assert slanted == marks_told(pl.concat([areas(effective=10.0, unsaved=60.0), again]))
    assert f"{slanted} {cut}" == marks_told(pl.concat([areas(effective=90.0), again]))
    assert cut == marks_told(
        pl.concat([areas(effective=90.0, unsaved=5.0), again.with_columns(amount=0.0)])
    )


def test_long_bars_are_cut_only_where_little_is_lost() -> None:
    cut, whole = (
        cascade(areas(effective=kept, unsaved=100.0 - kept), LIGHT, "all", "").layout.xaxis.range[0]
        for kept in (90.0, 40.0)
    )

    assert cut > 0
    assert 0 == whole


def test_names_stand_opposite_to_their_bars() -> None:
    frame = pl.DataFrame({"area": ["unsaved", "hang"], "moved_ratio": [-0.01, 0.002]})
    figure = moved(frame, LIGHT)

    assert ["left", "right"] == [note.xanchor for note in figure.layout.annotations]
    assert [("-1.00 pp",), ("+0.20 pp",)] == [bar.text for bar in figure.data]


def test_the_job_mix_is_named_and_is_no_area() -> None:
    frame = pl.DataFrame({"area": ["job_mix"], "moved_ratio": [0.01]})
    figure = moved(frame, LIGHT)

    assert "<b>job mix</b>" == figure.layout.annotations[0].text
    assert LIGHT.comparison == figure.data[0].marker.color


def test_what_got_worse_is_marked_on_the_axis() -> None:
    marks = pl.DataFrame({"day": [date(2026, 3, 2)], "text": ["slower"]})
    figure = ett_by_day(days(0.95, 0.85), days(1.0).clear(), marks, 0.9, LIGHT, 280)

    assert ("triangle-up", [0.6]) == (figure.data[-1].marker.symbol, list(figure.data[-1].y))


def test_a_small_team_does_not_flatten_the_others() -> None:
    fleet = days(0.9, 0.8)

    assert (pytest.approx(0.48), 1.0) == bounds(fleet, [days(0.1, 0.9, 0.9)], [0.9])
    assert (pytest.approx(0.28), 1.0) == bounds(days(0.3), [days(0.4), days(0.3).clear()], [None])


def test_the_usual_day_of_each_team_is_on_the_axis() -> None:
    assert (pytest.approx(0.18), 1.0) == bounds(days(0.9), [days(0.1, 0.2, 0.9)], [0.9])


def test_team_names_are_no_markup_in_a_chart() -> None:
    frame = pl.DataFrame({"team": [HOSTILE], "unaccounted_ratio": [0.1]})

    assert "<" not in unaccounted(frame, 0.05, LIGHT).layout.yaxis.ticktext[0]


def attempts(number: int, outcome: str = "failed") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "attempt": range(1, number + 1),
            "started_at": [START + timedelta(hours=2 * place) for place in range(number)],
            "ended_at": [START + timedelta(hours=2 * place + 1) for place in range(number)],
            "outcome": [outcome] * number,
        }
    )


def detail(frame: pl.DataFrame, *, kind: str = "area", name: str = "effective") -> pl.DataFrame:
    return frame.select(
        "attempt",
        kind=pl.lit(kind),
        name=pl.lit(name),
        detail=pl.lit(None, pl.String),
        step=pl.lit(None, pl.Int64),
        started_us=pl.col("started_at").dt.epoch("us"),
        ended_us=pl.col("ended_at").dt.epoch("us"),
    )


def test_a_gantt_has_a_row_an_attempt_and_the_last_30_of_many() -> None:
    figure = gantt(attempts(34), detail(attempts(34)), LIGHT)

    assert MOST_ATTEMPTS == len(figure.layout.yaxis.ticktext)
    assert ("attempt 5", "attempt 34") == figure.layout.yaxis.ticktext[:: MOST_ATTEMPTS - 1]


def test_waits_are_drawn_between_attempts_unless_these_are_aligned() -> None:
    true_time, aligned = (
        gantt(attempts(3), detail(attempts(3)), LIGHT, aligned=aligned) for aligned in (False, True)
    )
    named = [{each.name: each for each in figure.data} for figure in (true_time, aligned)]

    assert ("waiting 1 h ", "waiting 1 h ") == named[0]["waits in words"].text
    assert {"waits", "waits in words"} == named[0].keys() - named[1].keys()
    assert [0.0, 0.0, 0.0] == next(
        each for each in aligned.data if each.type == "bar"
    ).base.tolist()


@pytest.mark.parametrize("outcome", ["completed", "cancelled"])
def test_who_was_not_interrupted_did_not_wait(outcome: str) -> None:
    job = attempts(2, outcome)
    named = {each.name: each for each in gantt(job, detail(job), LIGHT).data}

    assert ("nothing ran for 1 h ",) == named["waits in words"].text
    assert {"nothing ran for 1 h"} == set(named["waits"].hovertext)


def test_a_wait_is_told_where_there_is_room() -> None:
    first, second, third = (
        attempts(1).with_columns(attempt=pl.lit(number)) for number in (1, 2, 3)
    )
    hour = timedelta(hours=1)
    after = {
        "started_at": pl.col("ended_at") + hour / 20,
        "ended_at": pl.col("ended_at") + hour / 2,
    }
    second = second.with_columns(**after)
    third = second.with_columns(attempt=pl.lit(3)).with_columns(**after)
    long = third.with_columns(ended_at=pl.col("ended_at") + 40 * hour)
    waits = [
        {each.name: each for each in gantt(job, detail(job), LIGHT).data}
        for job in (pl.concat([first, second, third]), pl.concat([first, second, long]))
    ]

    assert ("waiting 3 min ", "waiting 3 min ") == waits[0]["waits in words"].text
    assert ["waited 3 min before"] == [text.strip() for text in waits[1]["waits in words"].text]
    assert {"waiting 3 min"} == set(waits[1]["waits"].hovertext)


def test_a_wait_whose_words_would_be_cut_on_a_phone_is_told_after_the_bar() -> None:
    first, second = (
        attempts(1).with_columns(attempt=pl.lit(number), ended_at=pl.col("started_at") + length)
        for number, length in ((1, timedelta(hours=2)), (2, timedelta(hours=3)))
    )
    started = pl.col("started_at") + timedelta(hours=2, seconds=42)
    second = second.with_columns(started_at=started, ended_at=started + timedelta(hours=3))
    last = second.with_columns(
        attempt=pl.lit(3),
        started_at=pl.col("ended_at") + timedelta(seconds=18),
        ended_at=pl.col("ended_at") + timedelta(hours=6),
    )
    job = pl.concat([first, second, last])
    [told] = [each for each in gantt(job, detail(job), LIGHT).data if each.name == "waits in words"]

    assert ["waited 42 s before", "waiting 18 s"] == [text.strip() for text in told.text]


@pytest.mark.parametrize("outcome", gantt_marks.END)
def test_an_end_has_a_shape_and_a_letter(outcome: str) -> None:
    figure = gantt(attempts(1, outcome), detail(attempts(1)), LIGHT)
    end = next(each for each in figure.data if getattr(each, "mode", None) == "markers+text")

    assert gantt_marks.END[outcome][:2] == (end.text[0], end.marker.symbol[0])


def test_no_two_outcomes_look_alike() -> None:
    assert len(gantt_marks.END) == len({letter for letter, _, _ in gantt_marks.END.values()})
    assert len(gantt_marks.END) == len({shape for _, shape, _ in gantt_marks.END.values()})


def test_saves_stand_above_their_attempt() -> None:
    save = detail(attempts(1), kind="save", name="good")
    figure = gantt(attempts(1), pl.concat([detail(attempts(1)), save]), LIGHT)
    mark = next(each for each in figure.data if getattr(each, "mode", None) == "markers")

    assert mark.y[0] < 0


@pytest.mark.parametrize(("trains", "days"), [(300, 18), (3600, 35)])
def test_what_is_narrower_than_a_pixel_hides_nothing_that_is_longer(trains: int, days: int) -> None:
    """Weeks of training, saved each 5 minutes or each hour for 6 s, and 4 hours that stood."""
    second, end = 1_000_000, days * 86400
    starts = np.arange(0, end, trains) * second
    hang = pl.DataFrame({"name": ["hang"], "started_us": [end * second]}).with_columns(
        ended_us=pl.col("started_us") + 4 * 3600 * second
    )
    trained = pl.DataFrame({"started_us": starts, "ended_us": starts + (trains - 6) * second})
    frame = (
        pl.concat(
            [
                trained.select(pl.lit("effective").alias("name"), "started_us", "ended_us"),
                trained.select(
                    pl.lit("checkpoint_save").alias("name"),
                    started_us="ended_us",
                    ended_us=pl.col("ended_us") + 6 * second,
                ),
                hang,
            ]
        )
        .with_columns(attempt=pl.lit(1), kind=pl.lit("area"), detail=pl.lit(None, pl.String))
        .sample(fraction=1, shuffle=True, seed=1)
    )
    span = float((end + 4 * 3600) * second)
    drawn = thinned(frame, span)
    job = attempts(1).with_columns(ended_at=START + timedelta(seconds=end + 4 * 3600))

    assert ["effective", "hang"] == drawn["name"].to_list()
    assert span == (drawn["ended_us"] - drawn["started_us"]).sum()
    assert abs(drawn["started_us"][1] / second - end) <= span / second / gantt_marks.PIXELS
    assert is_summed(job, frame)
    whole = gantt(job, frame.with_columns(step=pl.lit(None, pl.Int64)), LIGHT)
    assert all(
        "for the most part" in text
        for bar in whole.data
        if bar.type == "bar"
        for text in bar.hovertext
    )


def test_an_attempt_with_as_many_parts_as_starting_has_shows_each() -> None:
    second = 1_000_000
    starts = np.array([*range(9), 1000]) * second
    frame = pl.DataFrame(
        {"name": [f"part {place}" for place in range(10)], "started_us": starts}
    ).with_columns(
        attempt=pl.lit(1),
        kind=pl.lit("area"),
        detail=pl.lit(None, pl.String),
        ended_us=pl.col("started_us").shift(-1, fill_value=20 * 86400 * second),
    )

    assert 10 == thinned(frame, 20 * 86400.0 * second).height


def test_an_attempt_without_length_draws_without_error() -> None:
    still = attempts(1).with_columns(ended_at=pl.col("started_at"))

    gantt(still, detail(still), DARK)
