"""Start & recover: how long until the first batch, and the next one after a failure."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import plotly.graph_objects as go
import polars as pl
import pytest

from app import regressed, waits, words
from app.charts.days import duration_axis, spread, stretches
from app.charts.dumbbells import dumbbells
from app.charts.lines import Line, lines_by_day
from app.charts.made_of import made_of, tallest
from app.charts.publishing import publishing
from app.charts.waits import wait_curves, waits_by_day, waits_of_size
from app.palette import DARK, LIGHT
from app.warehouse import connect
from queries import published
from tests.app import serving
from tests.app.dumps import attempt, ingest
from tests.app.opening import START, markdown, open_page, said, warnings

FIRST, LAST = date(2026, 2, 4), date(2026, 3, 3)
NO_MARKS = pl.DataFrame(schema={"day": pl.Date, "text": pl.String})


def rows(folder: Path, sql: str, *parameters: object) -> list[dict[str, Any]]:
    cursor = connect(published(folder)).cursor()
    found: list[dict[str, Any]] = cursor.sql(sql, params=list(parameters)).pl().to_dicts()
    return found


def test_the_six_numbers_are_those_of_the_views(fleet: Path) -> None:
    page = open_page(START)
    [window] = rows(fleet, "from window_of('fleet', 'all', ?, ?)", FIRST, LAST)
    [never] = rows(fleet, "from window_starts('fleet', 'all', ?, ?) where day is null", FIRST, LAST)
    shown = [metric.value for metric in page.metric]

    assert [
        "Start p50",
        "Start p90",
        "Recover p50",
        "Recover p90",
        "Start + recovery",
        "Never trained",
    ] == [metric.label for metric in page.metric]
    assert f"{window['tts_p50_seconds'] // 60:.0f} min" == " ".join(shown[0].split()[:2])
    assert str(never["never_trained"]) == shown[5]


def test_start_and_recovery_is_said_to_be_of_both(fleet: Path) -> None:
    tile = open_page(START).metric[4]
    [losses] = rows(fleet, "from window_losses('fleet', 'all', ?, ?)", FIRST, LAST)
    of_both = (losses["start_up_gpu_seconds"] + losses["recovery_gpu_seconds"]) / 3600

    assert words.compact(of_both) == tile.value
    assert "but for recoveries" not in tile.proto.help
    assert "of first tries and of recoveries" in tile.proto.help


def test_no_line_of_the_period_before_is_told_where_none_is_drawn(fleet: Path) -> None:
    compared, alone = (said(open_page(START, vs=versus)) for versus in ("previous", "none"))

    assert 2 == sum("period before" in text for text in compared)
    assert not any("period before" in text or "ring before" in text for text in alone)


def test_waits_are_those_of_overview(fleet: Path) -> None:
    start, overview = open_page(START), open_page()

    assert overview.metric[3].value == start.metric[0].value
    assert overview.metric[4].value == start.metric[2].value


def test_the_slowest_attempts_are_sorted_and_in_the_window(fleet: Path) -> None:
    slowest = open_page(START, days="7", team="feed").dataframe[-1].value

    assert sorted(slowest["wait_minutes"], reverse=True) == slowest["wait_minutes"].tolist()
    assert {"feed"} == set(slowest["team"])
    assert slowest["first_batch_at"].min() >= datetime(2026, 2, 25)


def test_the_waits_of_the_period_before_lie_on_the_axis(warehouse: Path) -> None:
    told = serving.fleet()
    slow = [
        replace(each, tts=7200.0)
        if each.tts and each.started_at.date() == date(2026, 2, 20)
        else each
        for each in told.attempts
    ]
    serving.publish(warehouse, replace(told, attempts=slow))
    drawn = [json.loads(each.proto.spec) for each in open_page(START, days="7").get("plotly_chart")]
    before = [
        (max(filter(None, trace["y"]), default=0.0), 10 ** figure["layout"]["yaxis"]["range"][1])
        for figure in drawn
        for trace in figure["data"]
        if trace.get("name") == "previous p50"
    ]

    assert 7200.0 == max(seconds for seconds, _ in before)
    assert [] == [(seconds, top) for seconds, top in before if seconds > top]


def test_by_wall_only_what_is_of_gpu_hours_says_not_that_attempts_count_the_same(
    fleet: Path,
) -> None:
    page = open_page(START, weight="wall")
    told = [chart.proto.alt for chart in page.get("plotly_chart")]

    assert ["Share of shutdown that publishes"] == [
        alt.split(" the model")[0] for alt in told if "every attempt counts the same" not in alt
    ]


def test_the_kind_of_wait_is_in_the_url(fleet: Path) -> None:
    page = open_page(START, wait="recovery")

    assert any(text.startswith("Time to recover; the grey line") for text in said(page))


def test_a_team_that_never_recovered_is_no_error(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(
            f"j{n}", 1, datetime(2026, 3, 3, n), {"trainer_init": 60.0, "effective": 600.0}, tts=60
        )
        for n in range(6)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(START)

    assert any("no recovery in these days" in text for text in said(page))
    assert any("Nobody waited here" in text for text in said(page))


def test_an_uninstrumented_fleet_says_why_there_is_nothing(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 60.0})
        for n in range(9)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(START)

    assert any("cannot say when training began" in text for text in said(page))


def test_a_failing_view_leaves_the_other_cards(warehouse: Path) -> None:
    path = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop macro table window_start_areas")
    page = open_page(START)

    assert any("`window_start_areas` could not be read" in error.value for error in page.error)
    assert any(text == "**1-8 GPUs**" for text in markdown(page))


def waited(*seconds: float | None, incomplete: int = 0) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": [FIRST + timedelta(days=place) for place in range(len(seconds))],
            "is_complete": pl.Series(
                [place < len(seconds) - incomplete for place in range(len(seconds))],
                dtype=pl.Boolean,
            ),
            "p50_seconds": pl.Series(seconds, dtype=pl.Float64),
            "p90_seconds": pl.Series([each and 2 * each for each in seconds], dtype=pl.Float64),
            "previous_p50_seconds": pl.Series([60.0] * len(seconds), dtype=pl.Float64),
        }
    )


def of_size(frame: pl.DataFrame) -> go.Figure:
    spine = frame.select("day", "is_complete")
    days = frame.drop("is_complete")
    return waits_of_size(days, "p50_seconds", spine, (60, 600), DARK, 96)


def test_the_band_breaks_where_nobody_waited() -> None:
    frame = waited(100.0, 120.0, None, 90.0, 80.0)
    figure = waits_by_day(frame, NO_MARKS, (60, 600), LIGHT, 280)
    bands = [each for each in figure.data if each.fill == "toself"]

    assert 2 == len(bands)
    assert [200.0, 240.0, 120.0, 100.0] == list(bands[0].y)


@pytest.mark.parametrize("is_of_size", [False, True])
def test_an_incomplete_day_of_waits_is_hollow(is_of_size: bool) -> None:
    frame = waited(100.0, 90.0, incomplete=1)
    figure = of_size(frame) if is_of_size else waits_by_day(frame, NO_MARKS, (60, 600), DARK, 280)
    hollow = next(each for each in figure.data if each.name == "p50 of an incomplete day")
    line = next(each for each in figure.data if each.name == "p50")

    assert ([90.0], [100.0]) == (list(hollow.y), list(line.y))
    assert DARK.background == hollow.marker.color


def test_what_got_worse_is_marked_on_its_day_without_markup() -> None:
    marks = pl.DataFrame({"day": [FIRST], "text": [f"{serving.HOSTILE} got worse"]})
    figure = waits_by_day(waited(100.0, 90.0), marks, (60, 600), LIGHT, 280)

    assert [60] == list(figure.data[-1].y)
    assert "<" not in figure.data[-1].hovertext[0]


@pytest.mark.parametrize("frame", [waited(), waited(None), waited(100.0)])
def test_few_days_of_waits_draw_without_error(frame: pl.DataFrame) -> None:
    waits_by_day(frame, NO_MARKS, spread([frame], "p50_seconds"), DARK, 280)
    of_size(frame)


def test_a_day_between_two_on_which_nobody_waited_is_a_dot_in_a_long_window() -> None:
    frame = waited(*[100.0, 110.0] * 20, None, 90.0, None, 80.0)
    drawn = [
        waits_by_day(frame, NO_MARKS, (60, 600), LIGHT, 280).data[-4],
        of_size(frame).data[1],
        lines_by_day(
            frame.with_columns(previous_p50_seconds=None),
            (Line("p50_seconds", "p50"),),
            str,
            {},
            LIGHT,
            180,
        ).data[1],
    ]
    dots = [
        [place for place, size in enumerate(line.marker.size) if size]
        for line in drawn
        if "markers" in line.mode
    ]

    assert [[41, 43]] * 3 == dots


def test_an_axis_of_days_is_one_without_any_day_that_is_complete() -> None:
    figure = waits_by_day(waited(100.0, incomplete=1), NO_MARKS, (60, 600), DARK, 280)

    assert "date" == figure.layout.xaxis.type


@pytest.mark.parametrize(("asked", "named"), [("zzz", "zzz"), ("", "(empty)")])
def test_a_wait_that_is_none_is_said_and_starts_are_shown(
    fleet: Path, asked: str, named: str
) -> None:
    page = open_page(START, wait=asked)

    assert any(f"asks for wait = ` {named} `" in text for text in warnings(page))
    assert not any(text.startswith("Nobody waited here") for text in said(page))


def test_stretches_are_unbroken_and_longer_than_a_day() -> None:
    frame = waited(1.0, 2.0, None, 3.0, None, 4.0, 5.0, 6.0)

    assert [[1.0, 2.0], [4.0, 5.0, 6.0]] == [
        part["p50_seconds"].to_list() for part in stretches(frame, "p50_seconds")
    ]


def test_an_axis_of_durations_that_differ_little_names_two_at_least() -> None:
    assert ["3 min", "4 min"] == duration_axis(162, 256)["ticktext"]
    assert ["22 s", "24 s", "26 s"] == duration_axis(23, 24)["ticktext"]


def test_an_axis_of_durations_is_named_in_words() -> None:
    axis = duration_axis(50, 4000)

    assert ["1 min", "2 min", "5 min", "10 min", "30 min", "1 h"] == axis["ticktext"]


def test_recoveries_are_hatched_in_what_they_are_made_of() -> None:
    areas = pl.DataFrame(
        {"day": [FIRST, FIRST], "area": ["pt2_compile", "scheduling"], "p50_seconds": [60.0, 5.0]}
    )
    figure = made_of(areas, waited(1.0), 65, LIGHT, 280, is_recovery=True)

    assert ["scheduling", "pt2_compile"] == [bar.name for bar in figure.data]
    assert {"\\"} == {bar.marker.pattern.shape for bar in figure.data}
    assert 65.0 == tallest(areas)


def test_a_stage_without_a_past_has_a_dot_only() -> None:
    stages = pl.DataFrame(
        {
            "stage": ["device_init", "pre_train"],
            "mean_seconds": [20.0, 30.0],
            "previous_mean_seconds": pl.Series([10.0, None], dtype=pl.Float64),
        }
    )
    _, rings, dots, _ = dumbbells(stages, LIGHT).data

    assert [20.0, 30.0] == list(dots.x)
    assert 10.0 == rings.x[0]
    assert np.isnan(rings.x[1])


def test_what_a_stage_takes_stands_beside_its_dot_and_its_ring() -> None:
    stages = pl.DataFrame(
        {
            "stage": ["slower", "faster", "new"],
            "mean_seconds": [20.0, 20.0, 30.0],
            "previous_mean_seconds": pl.Series([10.0, 90.0, None], dtype=pl.Float64),
        }
    )
    *_, texts = dumbbells(stages, LIGHT).data

    assert [20.0, 90.0, 30.0] == list(texts.x)
    assert ["20 s", "20 s", "30 s"] == [text.strip() for text in texts.text]


def test_the_curve_names_its_p50_and_p90() -> None:
    curve = pl.DataFrame({"up_to_seconds": [60.0, 120.0], "share_ratio": [0.5, 1.0]})
    figure = wait_curves(curve, curve.clear(), {"p50": 60.0, "p90": None}, LIGHT, 280)

    assert ["p50 1 min"] == [note.text for note in figure.layout.annotations]
    assert "hv" == figure.data[1].line.shape


def test_what_took_no_time_stands_at_the_edge_of_a_logarithmic_axis() -> None:
    curve = pl.DataFrame({"up_to_seconds": [1e-6], "share_ratio": [1.0]})
    figure = wait_curves(curve, curve.clear(), {"p50": 0.0, "p90": 0.0}, LIGHT, 280)
    low, _ = figure.layout.xaxis.range

    assert [-1.0, -1.0] == [note.x for note in figure.layout.annotations]
    assert "p50 0 s" == figure.layout.annotations[0].text
    assert [0.1] == list(figure.data[1].x)
    assert low < -1


@pytest.mark.parametrize("is_of_size", [False, True])
def test_a_day_of_no_wait_stands_at_the_edge_of_a_logarithmic_axis(is_of_size: bool) -> None:
    spine = pl.DataFrame({"day": [FIRST, LAST], "is_complete": [True, True]})
    waited = {f"{name}_seconds": [60.0, 0.0] for name in ("p50", "p90", "previous_p50")}
    days = spine.with_columns(**{name: pl.Series(told) for name, told in waited.items()})
    limits = spread([days], *waited)
    if is_of_size:
        mine = days.drop("is_complete")
        figure = waits_of_size(mine, "p50_seconds", spine, limits, LIGHT, 150)
    else:
        figure = waits_by_day(days, NO_MARKS, limits, LIGHT, 280)
    [line] = [trace for trace in figure.data if trace.name == "p50"]

    assert [60.0, 0.1] == list(line.y)
    assert ("1 min", "0 s") == tuple(line.text)
    assert all(0 < each for trace in figure.data if trace.y is not None for each in trace.y)


def test_lines_are_named_at_their_end() -> None:
    days = waited(1.0, 2.0).select(
        "day", "is_complete", hit="p50_seconds", miss="p90_seconds", previous_hit="p50_seconds"
    )
    both = (Line("hit", "hit"), Line("miss", "miss", "dash"))
    figure = lines_by_day(days, both, str, {}, LIGHT, 180)

    assert [("hit", 2.0), ("miss", 4.0)] == [
        (note.text, note.y) for note in figure.layout.annotations
    ]
    assert ["solid", "dash"] == [line.line.dash for line in figure.data[1:]]


def test_where_no_day_is_complete_a_line_shows_what_the_page_speaks_of() -> None:
    days = waited(1.0).select(
        "day", is_complete=pl.lit(value=False), hit="p50_seconds", previous_hit="p50_seconds"
    )
    figure = lines_by_day(days, (Line("hit", "hit"),), str, {}, LIGHT, 180)

    assert [1.0] == list(figure.data[1].y)


def test_team_names_are_no_markup_beside_their_shutdown() -> None:
    teams = pl.DataFrame(
        {"team": [serving.HOSTILE], "publishing_ratio": [0.7], "text": ["70 % of 1.2k"]}
    )

    assert "<" not in publishing(teams, LIGHT).layout.yaxis.ticktext[0]


def test_starts_of_unknown_size_are_counted_beside_those_of_known(
    warehouse: Path,
) -> None:
    attempts = [
        serving.Attempt(
            f"j{n}", 1, datetime(2026, 3, 3, 9), {"effective": 60.0}, gpus=gpus, tts=9.0
        )
        for n, gpus in enumerate((8, None, None))
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))

    assert "Not drawn: 2 starts on an unknown number of GPUs." in said(open_page(START))


def test_a_size_is_told_with_its_change_and_count() -> None:
    now, few = ({"tts_p50_seconds": 258.0, "tts_count": count} for count in (5, 4))
    then, few_then = ({"tts_p50_seconds": 288.0, "tts_count": count} for count in (5, 4))

    assert "4 min 18 s, -30 s \u00b7 5 starts" == waits.of_size(now, then)
    assert "4 min 18 s \u00b7 5 starts" == waits.of_size(now, None)
    assert "4 min 18 s \u00b7 5 starts" == waits.of_size(now, few_then)
    assert "4 min 18 s \u00b7 4 starts" == waits.of_size(few, then)
    assert "no start" == waits.of_size(None, None)


REGRESSION = {
    "team": "feed",
    "metric": "tts_seconds",
    "started_on": date(2026, 3, 2),
    "expected": 370.0,
    "observed": 520.0,
    "change_ratio": 0.4054,
    "lost_gpu_seconds_per_day": 310 * 3600.0,
}


def test_a_regression_is_a_sentence() -> None:
    assert (
        "Time to start of feed: 6 min 10 s \u2192 8 min 40 s since Mon 2 Mar "
        "(+41 %, 310 GPU-hours a day)"
    ) == regressed.sentence(REGRESSION)


def test_what_is_not_known_of_a_regression_is_left_out() -> None:
    bare = {**REGRESSION, "change_ratio": None, "lost_gpu_seconds_per_day": None}

    assert regressed.sentence(bare).endswith("since Mon 2 Mar")


def test_both_lines_of_a_panel_are_told() -> None:
    days = pl.DataFrame({"day": [FIRST], "hit": [60.0], "miss": [300.0]})
    both = (Line("hit", "hit"), Line("miss", "miss", "dash"))
    hit = f"lowest 1 min on {words.day(FIRST)}, highest 1 min on {words.day(FIRST)}, last 1 min"
    miss = hit.replace("1 min", "5 min")

    assert f"hit: {hit} on {words.day(FIRST)}; miss: {miss} on {words.day(FIRST)}" == (
        waits.lines_told(days, FIRST, both, words.duration)
    )
    assert waits.lines_told(days, FIRST, both[:1], words.duration).startswith("lowest 1 min on ")


def test_what_the_slowest_queued_is_told_of_all_their_attempts_and_of_no_start(
    warehouse: Path,
) -> None:
    begins = datetime(2026, 3, 2, 10)
    died = attempt("a", 2, begins + timedelta(seconds=1300 + 3600), trains=0, outcome="failed")
    events = [
        *attempt("a", 1, begins, trains=1200, outcome="failed"),
        *(each for each in died if each.get("phase") != "training"),
        *attempt("a", 3, begins + timedelta(seconds=1300 + 3600 + 100 + 1800), trains=1200),
    ]
    ingest(warehouse, events, datetime(2026, 3, 3))
    slowest = open_page(START).dataframe[-1].value

    # from the last training to the next: both gaps, and two start-ups of 100 s
    recovery, start = (3600 + 1800 + 200) / 60, 100 / 60
    assert ["recovery", "start"] == slowest["wait"].tolist()
    assert pytest.approx([recovery, start]) == slowest["wait_minutes"].tolist()
    assert [90, 0] == slowest["queue_minutes"].tolist()
