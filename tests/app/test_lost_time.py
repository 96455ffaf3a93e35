"""Lost time: where the GPU-hours went, and whose they are."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from app import filters, losses, words
from app.charts.pairs import pairs
from app.charts.stack import one_area, order, stack
from app.charts.team_areas import team_areas
from app.palette import DARK, LIGHT
from app.warehouse import connect
from queries import AREAS, published
from tests.app import serving
from tests.app.opening import LOST, OVERVIEW, START, markdown, open_page, said, warnings

FIRST, LAST = date(2026, 2, 4), date(2026, 3, 3)


def row(folder: Path, sql: str, *parameters: object) -> dict[str, Any]:
    cursor = connect(published(folder)).cursor()
    found: dict[str, Any] = cursor.sql(sql, params=list(parameters)).pl().row(0, named=True)
    return found


def test_the_six_numbers_are_those_of_the_view(fleet: Path) -> None:
    page = open_page(LOST)
    of = row(fleet, "from window_losses('fleet', 'all', ?, ?)", FIRST, LAST)
    shown = {metric.label: metric.value for metric in page.metric}

    assert {
        "Lost GPU-hours": f"{of['lost_gpu_seconds'] / 3600 / 1e3:.1f}k",
        "In start-up": f"{of['start_up_gpu_ratio'] * 100:.2f} %",
        "In recovery": f"{of['recovery_gpu_ratio'] * 100:.2f} %",
        "In the train loop": f"{of['wasted_gpu_ratio'] * 100:.2f} %",
        "In shutdown": f"{of['shutdown_gpu_ratio'] * 100:.2f} %",
        "Unaccounted": f"{of['unaccounted_gpu_ratio'] * 100:.2f} %",
    } == shown


def test_what_is_lost_is_what_overview_says(fleet: Path) -> None:
    lost, overview = (open_page(path) for path in (LOST, "views/overview.py"))

    assert overview.metric[1].value == lost.metric[0].value


def test_every_attempt_the_same_is_another_number(fleet: Path) -> None:
    by_gpu, by_wall = (open_page(LOST, weight=weight) for weight in ("gpu", "wall"))

    assert "Lost hours" == by_wall.metric[0].label
    assert by_gpu.metric[3].value != by_wall.metric[3].value


def test_much_unaccounted_time_is_a_warning_in_words(warehouse: Path) -> None:
    areas = {"effective": 900.0, "unaccounted": 100.0}
    attempts = [serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), areas) for n in range(9)]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(LOST)

    assert any("over 2 %" in caption.value for caption in page.caption)


@pytest.mark.parametrize("again", [False, True])
def test_marks_of_retries_are_told_where_there_are_some(warehouse: Path, again: bool) -> None:
    areas = {"trainer_init": 100.0, "effective": 900.0}
    attempts = [
        serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), areas, is_recovering=again)
        for n in range(9)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(LOST)

    assert again == any("Slanted lines: start-up after" in each.value for each in page.caption)


def test_one_area_is_looked_at_from_the_url(fleet: Path) -> None:
    page = open_page(LOST, area="unsaved", team="feed")

    assert any(text.startswith("Looking at **unsaved**") for text in markdown(page))
    assert {"unsaved by day", "Jobs that lost most to unsaved"} <= {
        heading.value for heading in page.header
    }


def test_all_areas_are_one_click_away(fleet: Path) -> None:
    page = open_page(LOST, area="unsaved")
    [button] = [each for each in page.button if each.label == "Show all areas"]
    button.click().run()

    assert "all" == page.sidebar.selectbox(key="area").value
    assert not page.exception


def test_an_area_that_is_none_is_said(fleet: Path) -> None:
    page = open_page(LOST, area="effective")

    assert any("asks for area = ` effective `" in text for text in warnings(page))
    assert 6 == len(page.metric)


def test_jobs_are_sorted_by_what_they_lost(fleet: Path) -> None:
    jobs = open_page(LOST, area="trainer_init").dataframe[-1].value

    assert sorted(jobs["lost_gpu_hours"], reverse=True) == jobs["lost_gpu_hours"].tolist()
    assert 20 == len(jobs)


def test_the_largest_cause_is_told_only_where_all_areas_are_looked_at(fleet: Path) -> None:
    every, one = (
        open_page(LOST, area=area).dataframe[-1].value.columns for area in ("all", "trainer_init")
    )

    assert ["largest_area", "largest_gpu_hours"] == [name for name in every if name not in one]


def test_a_failing_view_leaves_the_other_cards(warehouse: Path) -> None:
    path = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop macro table window_team_areas")
    page = open_page(LOST)

    assert any("`window_team_areas` could not be read" in error.value for error in page.error)
    assert "Jobs that lost most" in [heading.value for heading in page.header]


def test_an_uninstrumented_fleet_has_no_losses(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 60.0})
        for n in range(9)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(LOST)

    assert [":gray[\u2013]"] * 6 == [metric.value for metric in page.metric]
    assert any("uninstrumented" in text for text in said(page))


def test_a_price_is_shown_beside_what_is_lost(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), {"scheduling": 360.0}, gpus=1000)
        for n in range(10)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts, price=(2.5, "US$")))
    page = open_page(LOST)

    assert any(text.startswith("US\\$ 2.5k \u00b7 of 1.0k GPU-hours") for text in said(page))
    assert [250.0] * 10 == page.dataframe[-1].value["lost_cost"].tolist()
    assert any(text.startswith("of 1.0 hours") for text in said(open_page(LOST, weight="wall")))


def shares(**columns: float) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "day": [FIRST] * len(columns),
            "area": list(columns),
            "is_recovery": [False] * len(columns),
            "share_ratio": list(columns.values()),
        }
    )


SPINE = pl.DataFrame({"day": [FIRST, LAST], "is_complete": [True, False]})


def test_effective_lies_below_all_that_is_lost() -> None:
    figure = stack(shares(unsaved=0.1, effective=0.9), SPINE, 0.9, LIGHT, 280)

    assert ["effective", "unsaved"] == [bar.name for bar in figure.data]
    assert set(AREAS) - {"uninstrumented"} == set(order())
    assert "stack" == figure.layout.barmode


def test_a_day_without_an_area_breaks_no_column() -> None:
    figure = stack(shares(unsaved=0.1, effective=0.9), SPINE, 0.9, LIGHT, 280)

    assert [[0.9, 0.0], [0.1, 0.0]] == [list(bar.y) for bar in figure.data]


def test_a_single_day_is_as_wide_as_a_day() -> None:
    [bars] = stack(shares(effective=0.9), SPINE.head(1), 0.9, LIGHT, 280).data

    assert 0.9 * 86_400_000 < bars.width < 86_400_000


def test_an_incomplete_day_is_pale() -> None:
    figure = stack(shares(effective=0.9), SPINE, 0.9, LIGHT, 280)

    assert [1.0, 0.4] == list(figure.data[0].marker.opacity)


def test_recovery_is_hatched_in_the_columns() -> None:
    both = pl.concat(
        [shares(scheduling=0.1), shares(scheduling=0.1).with_columns(is_recovery=True)]
    )
    figure = stack(both, SPINE, None, DARK, 280)

    assert ["", "\\"] == [bar.marker.pattern.shape for bar in figure.data]


def test_columns_begin_at_60_percent_unless_a_day_is_lower() -> None:
    high, low = (
        stack(shares(effective=value), SPINE, 0.9, LIGHT, 280).layout.yaxis.range[0]
        for value in (0.8, 0.37)
    )

    assert (0.6, 0.3) == (high, pytest.approx(low))


def test_an_area_is_drawn_beside_the_days_before() -> None:
    days = SPINE.with_columns(share_ratio=pl.Series([0.1, 0.2]), previous_share_ratio=0.3)
    bars, line = one_area(days, "hang", LIGHT, 280).data

    assert "|" == bars.marker.pattern.shape
    assert [0.3, 0.3] == list(line.y)


def test_ticks_of_an_area_of_next_to_nothing_are_named_apart() -> None:
    days = SPINE.with_columns(share_ratio=pl.Series([0.0008, 0.0012]), previous_share_ratio=0.001)

    assert "~%" == one_area(days, "hang", LIGHT, 280).layout.yaxis.tickformat


def test_retries_are_hatched_and_areas_without_any_are_left_out() -> None:
    frame = pl.DataFrame(
        {
            "area": ["trainer_init", "trainer_init", "scheduling", "unsaved"],
            "is_recovery": [False, True, False, False],
            "amount": [3600.0, 7200.0, 36.0, 1.0],
        }
    )
    tries = losses.tries(frame)
    first, again = pairs(tries, LIGHT).data

    assert ["scheduling", "trainer_init"] == tries["area"].to_list()
    assert [0.0, 7200.0] == list(again.x)
    assert ("", "\\") == (first.marker.pattern.shape, again.marker.pattern.shape)


def test_an_area_that_took_nothing_before_is_no_unknown_unless_nothing_ran() -> None:
    frame = pl.DataFrame(
        {"area": ["trainer_init"], "is_recovery": [False], "amount": [3600.0]},
    )
    ran = frame.with_columns(area=pl.lit("effective"))
    columns = ["previous_first_amount", "previous_again_amount"]
    tries = losses.tries(frame)

    assert [(0.0, 0.0)] == losses.tries_beside(tries, ran).select(columns).rows()
    assert [(None, None)] == losses.tries_beside(tries, ran.clear()).select(columns).rows()


def test_a_cell_knows_its_team_and_area_and_shows_no_markup() -> None:
    cells = pl.DataFrame(
        {"team": [serving.HOSTILE], "area": ["hang"], "share_ratio": [0.123], "hover": ["x"]}
    )
    figure = team_areas(cells, [serving.HOSTILE], ["hang"], LIGHT, "hang")

    assert (serving.HOSTILE, "hang") == tuple(figure.data[-1].customdata[0])
    assert "<" not in figure.layout.yaxis.ticktext[0]
    assert "12.3" == figure.layout.annotations[0].text
    assert ("<b>hang</b>",) == figure.layout.xaxis.ticktext


def test_areas_to_look_at_are_those_that_can_be_lost() -> None:
    assert set(AREAS) - {"effective", "uninstrumented"} == set(filters.LOST_AREAS)


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (OVERVIEW, {"ETT", "Lost hours"}),
        (LOST, set()),
        (START, {"Start + recovery"}),
    ],
)
def test_by_wall_what_every_attempt_counts_the_same_in_is_no_gpu_time(
    fleet: Path, path: str, labels: set[str]
) -> None:
    told = {
        metric.label: metric.proto.help
        for metric in open_page(path, weight="wall").metric
        if metric.label in labels or not labels
    }

    assert labels <= told.keys()
    assert not [label for label, text in told.items() if "GPU-" in text or "x GPUs" in text]


def test_by_wall_a_measure_of_gpu_time_is_told_in_time() -> None:
    loop = words.weighed("wasted_gpu_ratio", "wall")

    assert loop.meaning.startswith("The share of time inside the train loop")
    assert loop.formula == (
        "(unsaved + checkpoint_save + evaluation + data_wait + hang) / instrumented seconds"
    )
    assert words.weighed("lost_gpu_seconds", "wall").meaning.startswith("Time of instrumented jobs")
    assert words.glossary()["lost_gpu_seconds"] == words.weighed("lost_gpu_seconds", "gpu")


def test_by_wall_the_jobs_in_gpu_hours_do_not_say_that_attempts_count_the_same(
    fleet: Path,
) -> None:
    page = open_page(LOST, weight="wall")
    [jobs] = [table.proto.alt for table in page.dataframe if "lost_gpu_hours" in table.value]
    drawn = [chart.proto.alt for chart in page.get("plotly_chart")]

    assert jobs.startswith("Jobs that lost most")
    assert "every attempt counts the same" not in jobs
    assert all("every attempt counts the same" in alt for alt in drawn)
