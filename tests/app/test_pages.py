"""The pages on a small published fleet: what they say, also when something is amiss."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from app import parts, words
from tests.app import serving
from tests.app.opening import (
    CHECKPOINTS,
    DATA,
    FAILURES,
    JOB,
    JOBS,
    LOST,
    OVERVIEW,
    PAGES,
    START,
    markdown,
    open_page,
    said,
    warnings,
)

Show = Callable[[serving.Warehouse], None]


def test_overview_shows_six_numbers_of_the_last_28_complete_days(fleet: Path) -> None:
    page = open_page()

    assert [
        "ETT",
        "Lost GPU-hours",
        "Loss budget left",
        "Time to start",
        "Time to recover",
        "Preemption ratio",
    ] == [metric.label for metric in page.metric]
    assert any("Fleet" in text and "4 Feb to 3 Mar" in text for text in markdown(page))


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        (START, {}),
        (FAILURES, {}),
        (JOBS, {}),
        (JOB, {"job": "stubborn"}),
        (DATA, {}),
    ],
)
def test_a_table_says_in_which_zone_its_times_are(
    fleet: Path, path: str, asked: dict[str, str]
) -> None:
    page = open_page(path, **asked)
    columns = [
        column
        for table in page.dataframe
        for column in json.loads(table.proto.columns).values()
        if column.get("type_config", {}).get("type") == "datetime"
    ]

    assert columns
    assert [] == [column["label"] for column in columns if not column["label"].endswith(", UTC")]


def test_filters_come_from_the_url(fleet: Path) -> None:
    page = open_page(team="feed", days="7", workload="production", weight="wall")

    assert ("feed", "production") == tuple(box.value for box in page.sidebar.selectbox)
    assert any("25 Feb to 3 Mar" in text and text.startswith("` feed `") for text in markdown(page))
    assert "Lost hours" in [metric.label for metric in page.metric]


def test_a_team_that_is_not_there_is_named_and_the_nearest_offered(fleet: Path) -> None:
    page = open_page(team="rankin")

    assert ["There is no team ` rankin ` in this warehouse."] == warnings(page)[-1:]
    assert ["Show ` ranking `", "Show ` fleet `"] == [button.label for button in page.button]

    page.button[0].click().run()

    assert "ranking" == page.sidebar.selectbox[0].value
    assert page.metric


def test_the_other_teams_of_an_alert_are_told_as_what_they_are(fleet: Path) -> None:
    page = open_page(team="other")

    assert "all teams together that are not among the largest" in warnings(page)[-1]
    assert ["Show ` fleet `"] == [each.label for each in page.button if "Show" in each.label]


@pytest.mark.parametrize(("name", "value"), [("days", "31"), ("days", "x"), ("weight", "<b>")])
def test_a_filter_value_that_is_not_offered_is_said(fleet: Path, name: str, value: str) -> None:
    page = open_page(**{name: value})

    assert any(f"asks for {name} =" in text for text in warnings(page))
    assert page.metric


def test_a_workload_that_is_not_there_is_named(fleet: Path) -> None:
    page = open_page(workload="prod")

    assert any("There is no workload ` prod `" in text for text in warnings(page))
    assert "Show ` production `" in [button.label for button in page.button]


def test_without_enough_data_before_the_window_nothing_is_compared(fleet: Path) -> None:
    page = open_page(days="90")

    assert any("not compared" in text for text in markdown(page))
    assert {""} == {metric.delta for metric in page.metric[:2]}


def test_a_team_is_one_click_from_the_overview(fleet: Path) -> None:
    page = open_page()
    page.button(key="team feed").click().run()

    assert "feed" == page.sidebar.selectbox[0].value
    assert not page.exception


def test_regressions_are_not_said_to_be_none_before_any_was_looked_for(fleet: Path) -> None:
    page = open_page()

    assert any("No series has been judged yet" in caption.value for caption in page.caption)


def test_jobs_are_sorted_by_what_they_lost(fleet: Path) -> None:
    page = open_page(JOBS)
    lost = page.dataframe[0].value["lost_gpu_hours"].dropna().tolist()

    assert sorted(lost, reverse=True) == lost


def test_a_search_for_nothing_is_none(fleet: Path) -> None:
    assert any("jobs since Wed 25 Feb" in text for text in said(open_page(JOBS, q=" ", days="7")))


def test_a_search_finds_jobs_of_any_day(fleet: Path) -> None:
    page = open_page(JOBS, q="UNINSTRUMENTED", days="7")

    assert ["uninstrumented-1"] == page.dataframe[0].value["job_id"].tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [("gpus", "many"), ("gpus", "inf"), ("gpus", "9" * 40), ("outcome", "exploded")],
)
def test_a_search_that_cannot_be_is_said(fleet: Path, name: str, value: str) -> None:
    page = open_page(JOBS, **{name: value})

    assert page.dataframe
    assert any(f"asks for {name} = ` {value} `" in text for text in warnings(page))


def test_a_job_shows_its_attempts_and_the_one_in_the_url(fleet: Path) -> None:
    page = open_page(JOB, job="stubborn", attempt="3")

    assert 34 == len(page.dataframe[0].value)
    assert "Attempt 3" in [heading.value for heading in page.header]
    assert any(
        "the table below has 4 earlier attempts" in caption.value for caption in page.caption
    )


def test_a_job_that_is_not_there_is_named_and_near_ones_are_a_click_away(fleet: Path) -> None:
    page = open_page(JOB, job="stubbor")

    assert any("There is no job ` stubbor `" in text for text in warnings(page))
    assert any("only queued so far is here once it starts" in text for text in warnings(page))
    assert "` stubborn `" in [button.label for button in page.button]


@pytest.mark.parametrize(("gpus", "refused"), [("16", 0), ("16.0", 0), ("8.5", 1), ("x", 1)])
def test_a_number_of_gpus_is_refused_only_where_another_is_shown(
    fleet: Path, gpus: str, refused: int
) -> None:
    page = open_page(JOBS, gpus=gpus)

    assert refused == sum("The link asks for gpus" in text for text in warnings(page))


@pytest.mark.parametrize("attempt", ["99", "0", "-1", "x", "", "9" * 30])
def test_an_attempt_that_is_not_there_is_named(fleet: Path, attempt: str) -> None:
    page = open_page(JOB, job="stubborn", attempt=attempt)

    assert any("It has 1 to 34; attempt 34 is shown" in text for text in warnings(page))
    assert "Attempt 34" in [heading.value for heading in page.header]


def test_the_job_page_without_a_job_leads_to_the_list(fleet: Path) -> None:
    page = open_page(JOB)

    assert any("Choose one from the list" in caption.value for caption in page.caption)


def test_an_uninstrumented_job_says_so_and_has_no_ett(fleet: Path) -> None:
    page = open_page(JOB, job="uninstrumented-1")

    assert any("uninstrumented" in info.value for info in page.info)
    assert "\u2013" == page.metric[0].value


@pytest.mark.parametrize(
    ("area", "outcome", "why"),
    [
        ("uninstrumented", "failed", "not measured"),
        ("scheduling", "failed", "attempt 1 never trained"),
        ("scheduling", "running", "attempt 1 has not trained yet"),
    ],
)
def test_a_job_without_a_first_batch_says_why(
    warehouse: Path, area: str, outcome: str, why: str
) -> None:
    only = serving.Attempt("only", 1, datetime(2026, 3, 3, 8), {area: 60.0}, outcome=outcome)
    serving.publish(warehouse, serving.Warehouse(attempts=[only]))
    page = open_page(JOB, job="only")

    assert why in [caption.value for caption in page.caption]


def test_a_job_that_has_not_started_is_no_error(warehouse: Path) -> None:
    path = serving.publish(warehouse, serving.fleet(days=2))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "insert into jobs by name select 'pending' as job_id, 'ranking' as team, "
            "'production' as workload, 0 as attempts, 0 as interruptions, "
            "false as is_excluded, false as is_instrumented"
        )
    page = open_page(JOB, job="pending")

    assert any("has started yet" in caption.value for caption in page.caption)


def test_data_shows_rejects_with_examples_and_the_identity(fleet: Path) -> None:
    page = open_page(DATA)

    rejected = next(each.value for each in page.dataframe if "reason" in each.value)

    assert {"not_json": 5, "bad_timestamp": 1} == dict(
        rejected[["reason", "lines"]].itertuples(index=False)
    )
    assert 3 == sum("dumps/a" in caption.value for caption in page.caption)
    assert 2 == sum("good" in text and "largest gap 0 s" in text for text in markdown(page))
    assert ["1", "0", "1", "1"] == [metric.value for metric in page.metric]


def test_of_many_dumps_and_anomalies_all_are_counted(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(serving.publish(warehouse, serving.fleet()))) as connection:
        connection.execute("create or replace table ingested_files as from ingested_files limit 1")
        for _ in range(10):
            connection.execute("insert into ingested_files from ingested_files")
        connection.execute("create or replace table anomalies as from anomalies limit 1")
        for _ in range(11):
            connection.execute("insert into anomalies from anomalies")
    exported: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(parts, "footer", lambda **what: exported.update({what["stem"]: what}))
    page = open_page(DATA)
    told = [*(each.value for each in page.caption), *(each.label for each in page.expander)]

    assert "Dumps that were loaded, the newest first: 1,024" in told
    assert "The newest 500 of them; the CSV has all." in told
    assert 1024 == exported["ett_data_dumps"]["table"].height
    assert "Anomalies, the first 1,000 of 2,048." in told
    assert "Anomalies, the first 1,000 of 2,048" == exported["ett_data_anomalies"]["about"]
    assert "Anomalies, the first 1,000 of 2,048" in [each.proto.alt for each in page.dataframe]


def test_of_a_few_anomalies_nobody_hears_of_a_thousand(fleet: Path) -> None:
    told = [each.proto.alt for each in open_page(DATA).dataframe]

    assert "Anomalies" in told
    assert not any("thousand" in each for each in told)


def test_what_no_attempt_is_of_has_none(fleet: Path) -> None:
    [table] = [each for each in open_page(DATA).dataframe if each.proto.alt == "Anomalies"]

    assert table.proto.placeholder == words.UNKNOWN


def test_definitions_can_be_searched(fleet: Path) -> None:
    page = open_page(DATA)
    page.text_input(key="find").set_value("preemption").run()

    assert any(text.startswith("**Preemption ratio.**") for text in markdown(page))
    assert not any(text.startswith("**Time to start.**") for text in markdown(page))


def test_without_a_warehouse_the_page_says_what_to_run(warehouse: Path) -> None:
    page = open_page()

    assert any("make ingest" in text for text in markdown(page))


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_warehouse_is_no_error(show: Show, path: str) -> None:
    show(serving.empty())
    page = open_page(path)

    assert not page.error


@pytest.mark.parametrize("path", PAGES)
def test_headings_leave_no_level_out(fleet: Path, path: str) -> None:
    page = open_page(path, job="stubborn")

    assert 1 == len(page.title)
    assert page.header
    assert not page.subheader


@pytest.mark.parametrize("path", PAGES)
def test_one_team_and_no_complete_day_is_no_error(show: Show, path: str) -> None:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 60.0}, tts=1.0)
    show(serving.Warehouse(attempts=[attempt], last_complete_day=None))
    page = open_page(path, job="j")

    assert not page.error[1:]
    if path == OVERVIEW:
        assert any("No day is complete yet" in text for text in warnings(page))


def test_too_few_attempts_are_grey_and_not_compared(warehouse: Path) -> None:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 60.0}, tts=1.0)
    serving.publish(warehouse, serving.Warehouse(attempts=[attempt]))
    page = open_page()

    assert ":gray[100.0 %]" == page.metric[0].value
    assert "" == page.metric[0].delta
    # beside what it is held against all the same: that is no comparison with days before
    told = [each.value for each in page.caption]
    assert "target 90 %, 10.0 pp above; n = 1, too few to compare" in told
    assert "p50 of 1; p90 1.0 s; n = 1, too few to compare" in told


@pytest.mark.parametrize(("before", "is_compared"), [(4, False), (5, True)])
@pytest.mark.parametrize("path", [OVERVIEW, LOST, START, FAILURES, CHECKPOINTS])
def test_with_too_few_of_before_nothing_is_compared(
    show: Show, path: str, before: int, is_compared: bool
) -> None:
    days = [(datetime(2026, 3, 3, 9), 6), (datetime(2026, 2, 18, 9), before)]
    attempts = [
        serving.Attempt(f"j{at.day}-{each}", 1, at, {"effective": 60.0 * at.day}, tts=1.0 * at.day)
        for at, count in days
        for each in range(count)
    ]
    show(serving.Warehouse(attempts=attempts))
    page = open_page(path, days="7")
    told = [each.value for each in page.caption]

    assert all(":gray[" not in each.value for each in page.metric if each.delta)
    assert is_compared == any(each.delta for each in page.metric)
    assert is_compared == (not any("; n = 4 before, too few to compare" in each for each in told))
    if path == OVERVIEW:  # of its one team too
        assert is_compared == any(" pp \u00b7 0 GPU-hours lost" in each for each in told)
    assert (path == OVERVIEW and not is_compared) == any(
        each
        == "There is nothing to compare with: ETT is known of only 4 attempts in the days before."
        for each in told
    )


def test_a_team_of_few_attempts_is_not_compared_where_the_fleet_is(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(f"{team}{day}-{each}", 1, datetime(2026, month, day, 9), areas, team=team)
        for team, then, now in (("many", 6, 6), ("few", 4, 6), ("fewer", 6, 4), ("new", 0, 6))
        for month, day, count in ((2, 18, then), (3, 3, now))
        for areas in [{"effective": 600.0 * day, "unaccounted": 600.0}]
        for each in range(count)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page(days="7")
    teams = [each.key.removeprefix("team ") for each in page.button if "team " in str(each.key)]
    told = [each.value for each in page.caption if each.value.startswith("75.0 %")]

    assert {
        "many": "75.0 % -19.7 pp \u00b7 8.0 GPU-hours lost",
        "few": "75.0 % (too few to compare) \u00b7 8.0 GPU-hours lost",
        "fewer": "75.0 % (too few to compare) \u00b7 5.3 GPU-hours lost",
        "new": "75.0 % \u00b7 8.0 GPU-hours lost",
    } == dict(zip(teams, told, strict=True))


def test_of_few_attempts_too_it_is_said_why_there_is_nothing(warehouse: Path) -> None:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 60.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[attempt]))
    told = [each.value for each in open_page().caption]

    # five numbers and the team's tile; of its one end the preemption ratio alone is known
    assert 6 == told.count("Not reported by ` events ` dumps")
    assert 1 == told.count("0 of 1 ends; n = 1, too few to compare")


def test_a_format_that_may_report_more_is_not_said_to_report_nothing(warehouse: Path) -> None:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 60.0})
    path = serving.publish(warehouse, serving.Warehouse(attempts=[attempt]))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "insert into sources values ('slurm', 'slurm-sacct', null, ?, 1, 0, 1)",
            [datetime(2026, 3, 4, 5)],
        )
    sentences = said(open_page())

    assert "Not reported by the sources of these jobs" in sentences
    assert "There is no ETT to draw: not reported by the sources of these jobs." in sentences
    assert not any("reported by `" in text for text in sentences)


def test_what_no_source_reports_is_no_zero(warehouse: Path) -> None:
    attempts = [
        serving.Attempt(f"j{n}", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 60.0})
        for n in range(9)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page()

    # the last is the tile of the team
    assert [each.value for each in page.caption if "Not reported" in each.value][5:]
    assert not any("\u2013 GPU-hours lost" in each.value for each in page.caption)
    assert [":gray[\u2013]"] * 5 == [metric.value for metric in page.metric[:5]]
    assert any("Not reported by ` events ` dumps" in caption.value for caption in page.caption)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("name", [serving.HOSTILE, serving.FORMULA, "../../etc/passwd"])
def test_hostile_names_are_text(show: Show, path: str, name: str) -> None:
    show(serving.hostile())
    page = open_page(path, team=name, job=name)

    assert not page.error[1:]
    outside = [re.sub(r"(`+) .*? \1", "", text) for text in said(page)]
    assert [] == [text for text in outside if re.search(r"<img|!\[|HYPERLINK|passwd", text)]


def test_a_view_that_fails_takes_down_its_own_card_only(warehouse: Path) -> None:
    path = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop table regressions")
    page = open_page()

    assert any("`regressions` could not be read" in error.value for error in page.error)
    assert 6 == len(page.metric)


def test_a_job_of_a_file_that_an_earlier_release_published_is_shown(warehouse: Path) -> None:
    """The server is of the new release before the first ingest is."""
    path = serving.publish(warehouse, serving.fleet(days=3))
    with duckdb.connect(str(path)) as connection:
        connection.execute("alter table jobs drop column ett_gpu_ratio")
        told = connection.execute("select min(job_id) from jobs where ett_ratio > 0").fetchone()
    assert told is not None
    page = open_page(JOB, job=told[0])

    assert not page.exception
    assert "ETT" in [metric.label for metric in page.metric]


def test_a_new_publish_is_followed_without_a_restart(warehouse: Path) -> None:
    serving.publish(warehouse, serving.fleet(teams=("ranking",), days=3))
    page = open_page()
    serving.publish(warehouse, serving.fleet(teams=("ranking", "feed"), days=3), sequence=2)
    page.run()

    assert ["fleet", "feed", "ranking"] == page.sidebar.selectbox[0].options


def test_a_file_that_is_pruned_under_a_reader_is_replaced_by_the_next(warehouse: Path) -> None:
    first = serving.publish(warehouse, serving.fleet(teams=("ranking",), days=3))
    page = open_page()
    serving.publish(warehouse, serving.fleet(teams=("ranking",), days=3), sequence=2)
    first.unlink()
    page.run()

    assert 6 == len(page.metric)
