"""Frames of interruptions to figures: what is drawn, and that colour alone tells nothing."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import plotly.graph_objects as go
import polars as pl
import pytest

import queries
from app import parts
from app.charts.causes import cost, shades, stopped_by_day
from app.charts.heat import heat
from app.charts.load import preemption_by_load
from app.palette import DARK, LIGHT
from app.stops import dearest_domains, load_sentence
from tests.app.serving import HOSTILE

FIRST = date(2026, 3, 1)


def days(*rows: tuple[int, str, str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        [(FIRST + timedelta(days=day), *rest) for day, *rest in rows],
        schema={
            "day": pl.Date,
            "attribution": pl.String,
            "failure_domain": pl.String,
            "interruptions": pl.Int64,
        },
        orient="row",
    )


def spine(length: int, incomplete: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": [FIRST + timedelta(days=place) for place in range(length)],
            "is_complete": [place < length - incomplete for place in range(length)],
        }
    )


def no_previous() -> pl.DataFrame:
    return pl.DataFrame(schema={"day": pl.Date, "counted": pl.Int64})


def causes(*rows: tuple[str, str, str, int, float | None]) -> pl.DataFrame:
    frame = pl.DataFrame(
        rows,
        schema={
            "failure_domain": pl.String,
            "failure_category": pl.String,
            "attribution": pl.String,
            "interruptions": pl.Int64,
            "lost_gpu_seconds": pl.Float64,
        },
        orient="row",
    )
    return frame.with_columns(
        domain_interruptions=pl.col("interruptions").sum().over("failure_domain"),
        # null where none is known, as SQL sums
        domain_lost_gpu_seconds=pl.when(pl.col("lost_gpu_seconds").is_not_null().any())
        .then(pl.col("lost_gpu_seconds").sum())
        .over("failure_domain"),
    )


def load(*rows: tuple[int, float], fitted: float | None = 0.1) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "day": FIRST + timedelta(days=place),
                "jobs_running": jobs,
                "attempts_ended": 50,
                "preempted": round(50 * ratio),
                "preemption_ratio": ratio,
                "is_recent": place >= len(rows) - 7,
                "ratio_per_job": None if fitted is None else 0.001,
                "fitted_ratio": fitted,
                "usual_distance_ratio": 0.01,
                "recent_distance_ratio": None if fitted is None else rows[-1][1] - fitted,
            }
            for place, (jobs, ratio) in enumerate(rows)
        ]
    )


def test_domains_of_one_attribution_differ_in_more_than_colour() -> None:
    drawn = shades(days((0, "infra", "host", 5), (0, "infra", "network", 3)), LIGHT)

    assert ["host", "network"] == [shade.domain for shade in drawn]
    assert drawn[0].fill != drawn[1].fill
    assert drawn[0].pattern != drawn[1].pattern


def test_a_domain_looks_the_same_however_frequent_it_is() -> None:
    often, seldom = (
        {
            each.domain: (each.fill, each.pattern)
            for each in shades(
                days(
                    (0, "infra", "host", count),
                    (0, "infra", "network", 3),
                    (0, "infra", "own", 1),
                ),
                LIGHT,
            )
        }
        for count in (5, 1)
    )

    assert often == seldom


def test_every_domain_of_the_shipped_categories_has_a_look_of_its_own() -> None:
    with Path(queries.__file__).with_name("failure_categories.csv").open(encoding="utf-8") as rows:
        told = sorted({(row["attribution"], row["domain"]) for row in csv.DictReader(rows)})
    drawn = shades(days(*((0, *pair, 1) for pair in told)), LIGHT)
    beside = shades(days(*((0, *pair, 1) for pair in told), (0, "infra", "a_new_one", 1)), LIGHT)

    looks = {(each.attribution, each.fill, each.pattern) for each in drawn}
    assert len(told) == len(looks)
    assert set(drawn) < set(beside)


def test_the_legend_tells_every_pattern_of_the_stack_apart() -> None:
    told = ("unknown", "cascade", "user_code", "data", "gpu_hardware", "network", "storage")
    patterns = {each.pattern for each in shades(days(*((0, "unknown", d, 1) for d in told)), LIGHT)}

    assert len(told) == len(patterns)
    assert len(told) == len({parts.swatch(LIGHT.surface, each, LIGHT) for each in patterns})


def test_the_stack_is_in_the_order_of_attributions() -> None:
    frame = days(
        (0, "unknown", "unknown", 9), (0, "scheduler", "scheduler", 4), (0, "infra", "x", 1)
    )

    assert ["infra", "scheduler", "unknown"] == [each.attribution for each in shades(frame, LIGHT)]


def test_a_day_that_is_not_complete_is_pale() -> None:
    frame = days((0, "infra", "host", 5), (1, "infra", "host", 2))
    [bars] = stopped_by_day(frame, spine(2, incomplete=1), no_previous(), LIGHT, 280).data

    assert (1.0, 0.4) == tuple(bars.marker.opacity)


def test_the_period_before_is_a_thin_line() -> None:
    before = pl.DataFrame({"day": [FIRST], "counted": [3]})
    figure = stopped_by_day(days((0, "infra", "host", 5)), spine(1), before, LIGHT, 280)

    assert [1] == [each.line.width for each in figure.data if each.type == "scatter"]


def test_domains_are_sorted_by_cost_and_their_causes_lie_end_to_end() -> None:
    figure = cost(
        causes(
            ("host", "reboot", "infra", 90, 3600.0),
            ("network", "dns", "infra", 1, 3600.0),
            ("network", "ib_link", "infra", 2, 7200.0),
        ),
        LIGHT,
    )
    bars = {bar.name: (bar.y[0], bar.base[0], bar.x[0]) for bar in figure.data if bar.type == "bar"}

    assert ("network", "host") == tuple(figure.layout.yaxis.ticktext)
    assert {"ib_link": (0, 0.0, 2.0), "dns": (0, 2.0, 1.0), "reboot": (1, 0.0, 1.0)} == bars


def test_a_domain_of_unknown_gpus_is_counted_last_and_has_no_bar() -> None:
    figure = cost(causes(("a", "x", "infra", 9, None), ("b", "y", "user", 3, 3600.0)), LIGHT)

    assert ("b", "a") == figure.layout.yaxis.ticktext
    assert ["<b>1.0</b>", "<b>\u2013</b>"] == [
        note.text for note in figure.layout.annotations if note.text.startswith("<b>")
    ]
    assert ["b/y"] == [bar.customdata[0] for bar in figure.data if bar.type == "bar"]


def test_nothing_but_unknown_gpus_is_counted() -> None:
    figure = cost(causes(("a", "x", "infra", 9, None)), LIGHT)

    assert (" 9",) == figure.data[-1].text


def test_names_stand_at_the_left_and_the_most_frequent_first_where_no_gpus_are_known() -> None:
    figure = cost(causes(("a", "x", "infra", 5, None), ("b", "y", "infra", 9, None)), LIGHT)

    assert ("b", "a") == tuple(figure.layout.yaxis.ticktext)
    # the axis of the names is plotly's only while a trace is on it
    assert [None, "x2"] == [each.xaxis for each in figure.data]


def test_counts_stand_beside_the_cost() -> None:
    figure = cost(causes(("a", "x", "infra", 90, 1.0), ("b", "y", "user", 30, 2.0)), LIGHT)
    [dots] = [each for each in figure.data if each.type == "scatter"]

    assert (" 30", " 90") == tuple(dots.text)


def test_no_interruption_draws_without_error() -> None:
    stopped_by_day(days(), spine(0), no_previous(), DARK, 280)
    cost(causes(), DARK)


def test_counts_have_no_ticks_between_them() -> None:
    few, many = (
        stopped_by_day(
            days((0, "infra", "a", count), (0, "user", "b", 1)), spine(1), no_previous(), LIGHT, 280
        )
        for count in (1, 90)
    )

    assert (1, None) == (few.layout.yaxis.dtick, many.layout.yaxis.dtick)


def test_long_names_of_many_columns_stand_side_by_side() -> None:
    names = [f"team-with-a-long-name-{place}" for place in range(12)]
    cells = pl.DataFrame({"row": ["a"], "column": names[:1], "value": [1.0], "hover": [""]})
    figure = heat(cells, ["a"], names, LIGHT, show=str)

    assert {9} == {len(text) for text in figure.layout.xaxis.ticktext}
    assert 0 == figure.layout.xaxis.tickangle


def test_a_cell_without_a_value_stays_empty() -> None:
    cells = pl.DataFrame({"row": ["a"], "column": ["x"], "value": [0.5], "hover": [""]})
    figure = heat(
        cells, ["a", "b"], ["x", "y"], LIGHT, show=lambda value: f"{value:.1f}", marked="y"
    )

    assert ["0.5"] == [note.text for note in figure.layout.annotations]
    assert ("x", "<b>y</b>") == tuple(figure.layout.xaxis.ticktext)


def test_names_are_no_markup_in_any_of_them() -> None:
    cells = pl.DataFrame({"row": [HOSTILE], "column": [HOSTILE], "value": [1.0], "hover": [""]})
    figures: list[go.Figure] = [
        stopped_by_day(days((0, "infra", HOSTILE, 5)), spine(1), no_previous(), LIGHT, 280),
        cost(causes((HOSTILE, HOSTILE, "infra", 1, 1.0)), LIGHT),
        heat(cells, [HOSTILE], [HOSTILE], LIGHT, show=str),
    ]

    assert not any("<img" in figure.to_json() for figure in figures)


def test_the_last_seven_days_are_ringed() -> None:
    figure = preemption_by_load(load(*[(40 + place, 0.1) for place in range(20)]), LIGHT, 280)
    rings = {each.name: (len(each.x), each.marker.line.width) for each in figure.data[1:]}

    assert {"before": (13, 0), "last 7 days": (7, 2)} == rings


def test_ticks_of_a_small_preemption_ratio_are_named_apart() -> None:
    figure = preemption_by_load(load((40, 0.01), (41, 0.02)), LIGHT, 280)

    assert "~%" == figure.layout.yaxis.tickformat


def test_no_number_of_jobs_is_written_twice_under_the_load() -> None:
    few = preemption_by_load(load((1, 0.0), (1, 1.0), (2, 0.5)), LIGHT, 280)
    many = preemption_by_load(load((40, 0.1), (80, 0.2)), LIGHT, 280)

    assert (1, None) == (few.layout.xaxis.dtick, many.layout.xaxis.dtick)


def test_without_a_line_the_dots_still_stand() -> None:
    figure = preemption_by_load(load((40, 0.1), (41, 0.2), fitted=None), LIGHT, 280)

    assert ["last 7 days"] == [each.name for each in figure.data]


@pytest.mark.parametrize(
    ("most", "told"),
    [
        (5, "One more job running goes with +0.1 pp"),
        (14, "Ten more jobs running go with +1.0 pp"),
        (304, "A hundred more jobs running go with +10.0 pp"),
    ],
)
def test_the_sentence_speaks_of_no_more_jobs_than_days_differ_by(most: int, told: str) -> None:
    assert load_sentence(load(*[(4, 0.1)] * 20, (most, 0.1))).startswith(told)


def test_the_sentence_says_on_which_side_of_the_line_the_last_days_lie() -> None:
    quiet, above, below = (
        load_sentence(load(*[(40, 0.1)] * 20, (40, ratio))) for ratio in (0.1, 0.3, 0.0)
    )

    assert "within what days vary" in quiet
    assert "each weighing as much as attempts ended on it, lie 20.0 pp above it: the" in above
    assert "10.0 pp below it: the scheduler took less" in below
    assert "too few days" in load_sentence(load(*[(40, 0.1)] * 13, fitted=None))


def test_enough_days_with_equally_many_jobs_are_not_called_too_few() -> None:
    told = load_sentence(load(*[(40, 0.1)] * 14, fitted=None))

    assert "Before the last 7 days equally many jobs ran on each: there is no line." == told


def test_names_above_a_table_of_one_row_have_room() -> None:
    cells = pl.DataFrame({"row": ["host"], "column": ["feed"], "value": [0.1], "hover": ["x"]})
    figure = heat(cells, ["host"], ["feed"], LIGHT, str)

    # plotly gives names no room that it would take from less than this
    assert figure.layout.minreducedheight < figure.layout.height - 44


def test_domains_of_unknown_cost_come_last() -> None:
    found = pl.DataFrame(
        [("host", None), ("network", 60.0), ("storage", 3600.0), ("network", 60.0)],
        {"failure_domain": pl.String, "domain_lost_gpu_seconds": pl.Float64},
        orient="row",
    )

    assert ["storage", "network", "host"] == dearest_domains(found)
