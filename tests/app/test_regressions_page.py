"""Regressions: the list, the evidence of one, links that lead nowhere, older warehouses."""

from __future__ import annotations

import json
import math
import re
from datetime import date, timedelta
from pathlib import Path

import duckdb
import plotly.graph_objects as go
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import queries
from app import regression_words, runbooks, words
from app.charts import regression
from app.charts.causes import shades
from app.palette import DARK, LIGHT, Palette
from tests.app import found, serving
from tests.app.opening import OVERVIEW, markdown, open_page, said, warnings

PAGE, RUNBOOK = "views/regressions.py", "views/runbook.py"
LATE = found.SINCE - timedelta(days=20)
REASON = "cannot be judged: a fault"
TOLD = {"team": "feed", "metric": "trainer_init_seconds"}


@pytest.fixture(scope="module")
def told_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    found.add(serving.publish(folder, serving.fleet()), found.whole())
    return folder


@pytest.fixture
def told(told_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample fleet with regressions of every state; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(told_folder))
    return told_folder


def publish(folder: Path, rows: found.Rows) -> None:
    found.add(serving.publish(folder, serving.fleet()), rows)


def headings(page: AppTest) -> list[str]:
    return [element.value for element in page.header]


def raw(page: AppTest) -> list[str]:
    """What is written as HTML."""
    return [element.proto.body for element in page.get("html")]


def numbers(page: AppTest) -> dict[str, str]:
    return {element.label: element.value for element in page.metric}


def failed(page: AppTest) -> list[str]:
    """The views that could not be read; that the data is old is an error of its own."""
    return [each.value.split("`")[1] for each in page.error if "could not be read" in each.value]


# -- the list ------------------------------------------------------------------------------------


def test_the_title_says_how_many_are_open(told: Path) -> None:
    assert "Regressions (2)" == open_page(PAGE).title[0].value


def test_the_dearest_open_regression_comes_first(told: Path) -> None:
    table = open_page(PAGE).dataframe[0].value

    assert ["feed", "ads"] == table["team"].tolist()
    assert ["2 min 30 s \u2192 4 min 38 s"] * 2 == table["before \u2192 now"].tolist()
    assert ["\u25a0 ticket", "\u25cb info"] == table["severity"].tolist()
    assert [94.0, 1.0] == table["GPU-hours a day"].tolist()
    assert ["14 days", "34 days"] == table["age"].tolist()


def test_of_unknown_gpus_the_newest_comes_first_and_costs_what_nobody_knows(
    warehouse: Path,
) -> None:
    unknown = {"lost_gpu_seconds_per_day": None}
    publish(
        warehouse, {"regressions": [found.found(since=LATE, **unknown), found.found(**unknown)]}
    )
    page = open_page(PAGE)
    table = page.dataframe[0].value

    assert table["since"].tolist() == sorted(table["since"], reverse=True)
    assert table["GPU-hours a day"].isna().all()
    assert any("The newest first: no cost is known." in text for text in said(page))
    assert not any("GPU-hours a day" in text for text in said(page))


@pytest.mark.parametrize(
    ("tab", "team", "column", "value"),
    [
        ("Incidents", "search", "verdict", "Failures (network)"),
        ("Held back", "ranking", "held back", "other work, not slower work"),
        ("Closed", "all teams", "why", "new level"),
    ],
)
def test_each_state_has_a_tab_of_its_own_that_the_link_opens(
    told: Path, tab: str, team: str, column: str, value: str
) -> None:
    table = open_page(PAGE, tab=tab).dataframe[0].value

    assert value == dict(zip(table["team"], table[column], strict=True))[team]


@pytest.mark.parametrize(
    ("tab", "columns"),
    [("Open", ["since"]), ("Incidents", ["since", "last day"]), ("Closed", ["since", "closed"])],
)
def test_what_is_listed_for_years_tells_the_year(told: Path, tab: str, columns: list[str]) -> None:
    looks = json.loads(open_page(PAGE, tab=tab).dataframe[0].proto.columns)

    assert {"D MMM YYYY"} == {looks[name]["type_config"]["format"] for name in columns}


def test_a_near_miss_of_few_attempts_is_not_said_to_have_an_unknown_baseline(
    warehouse: Path,
) -> None:
    near = found.found(state="held_back", held_back_by="too_few_attempts")
    publish(warehouse, {**found.whole(), "regressions": [near]})
    listed = open_page(PAGE, tab="Held back").dataframe[0].value
    evidence = open_page(PAGE, team="feed", metric="trainer_init_seconds")

    assert ["too few attempts, or events, speak of it"] == listed["held back"].tolist()
    assert any(
        "held back: too few attempts, or events, speak of it" in text for text in markdown(evidence)
    )


@pytest.mark.parametrize(("tab", "days"), [("Incidents", (20, 18)), ("Closed", (30, 24))])
def test_what_is_over_is_not_told_as_if_it_went_on(
    told: Path, tab: str, days: tuple[int, int]
) -> None:
    page = open_page(PAGE, tab=tab)
    began, ended = (words.day(found.SINCE - timedelta(days=ago)) for ago in days)

    assert "before \u2192 during" in page.dataframe[0].value
    assert any(f"from {began} to {ended}" in text for text in markdown(page))
    assert not any(" old" in text for text in said(page))


def test_a_tab_that_is_none_is_said(told: Path) -> None:
    page = open_page(PAGE, tab="Nosuch")

    assert any("asks for tab = ` Nosuch `" in text for text in warnings(page))
    assert page.dataframe


def test_a_team_in_the_link_limits_the_list(told: Path) -> None:
    page = open_page(PAGE, team="ads")

    assert ["ads"] == page.dataframe[0].value["team"].tolist()
    assert any("` ads ` \u00b7 1 open" in text for text in said(page))


def test_what_is_open_for_all_teams_is_listed_for_each(warehouse: Path) -> None:
    over = {"state": "closed", "closed_on": found.SINCE}
    publish(
        warehouse,
        {"regressions": [found.found("fleet"), found.found("fleet", since=LATE, **over)]},
    )
    page = open_page(PAGE, team="ads")

    assert ["all teams"] == page.dataframe[0].value["team"].tolist()
    assert any(
        "` ads ` \u00b7 1 open, 0 gone within days, 0 held back, 0 closed" in t for t in said(page)
    )


def test_an_unknown_team_is_a_sentence(told: Path) -> None:
    page = open_page(PAGE, team="nobody", metric="tts_seconds")

    assert ["There is no team ` nobody ` in this warehouse."] == warnings(page)


def test_a_tab_without_rows_says_so(warehouse: Path) -> None:
    publish(warehouse, {"quiet_series": found.whole()["quiet_series"]})
    page = open_page(PAGE)

    assert "Regressions" == page.title[0].value
    assert any("Nothing is open" in text for text in said(page))
    assert any("Nothing got worse" in text for text in said(open_page()))


@pytest.mark.parametrize("of_which", [{}, {"team": "ads"}])
def test_nothing_is_not_said_to_be_well_before_any_series_was_judged(
    warehouse: Path, of_which: dict[str, str]
) -> None:
    quiet = [row for row in found.whole()["quiet_series"] if of_which or row["team"] == "ads"]
    publish(warehouse, {"quiet_series": quiet})

    for path in (PAGE, OVERVIEW):
        told = said(open_page(path, **of_which))

        assert any("No series has been judged yet" in text for text in told)
        assert not any("Nothing is open" in t or "Nothing got worse" in t for t in told)


def test_a_series_that_fell_silent_was_judged_before(warehouse: Path) -> None:
    silent = {"held_back_by": "no_data", "smallest_change_ratio": None, "judged_from": found.SINCE}
    quiet = [row | silent for row in found.whole()["quiet_series"]]
    publish(warehouse, {"quiet_series": quiet})

    for path, good in ((PAGE, "Nothing is open"), (OVERVIEW, "Nothing got worse")):
        told = said(open_page(path, team="ads"))

        assert any(good in text for text in told)
        assert not any("No series has been judged yet" in text for text in told)


def test_quiet_series_say_why_nothing_is_told(told: Path) -> None:
    page = open_page(PAGE)
    page.session_state["quiet series"] = True
    table = page.run().dataframe[-1].value

    assert ["no more than chance would do", "too few attempts to know what is usual"] == table[
        "why"
    ].tolist()
    assert ["-10 %", words.UNKNOWN] == table["smallest change"].tolist()
    # of failures they are failures
    assert "attempts or events in it" in table


# -- the evidence --------------------------------------------------------------------------------


def test_without_a_day_what_is_open_is_shown_whatever_came_after_it(warehouse: Path) -> None:
    # an alert's link names no day; the same measure may have another mix of work since then
    later = found.found(
        since=found.SINCE + timedelta(days=5), state="held_back", verdict="mix", held_back_by="mix"
    )
    publish(warehouse, {"regressions": [found.found(), later]})
    page = open_page(PAGE, **TOLD)

    assert any("**open**" in text for text in said(page))


def test_a_figure_of_the_evidence_is_told_with_its_numbers(told: Path) -> None:
    alts = [chart.proto.alt for chart in open_page(PAGE, **TOLD).get("plotly_chart")]

    assert 4 == len(alts)
    assert [] == [alt for alt in alts if not re.search(r"\d", alt.split(". trainer_init of")[0])]


def test_without_a_day_the_newest_is_shown(told: Path) -> None:
    page = open_page(PAGE, **TOLD)

    assert [] == warnings(page)
    assert any("**open**" in text for text in said(page))


def test_a_day_in_the_link_opens_exactly_that_regression(told: Path) -> None:
    since = found.SINCE - timedelta(days=30)
    page = open_page(PAGE, **TOLD, day=since.isoformat())

    assert [] == warnings(page)
    assert any("**closed**" in text for text in said(page))


@pytest.mark.parametrize(("ago", "days"), [(0, "28"), (30, "90")])
def test_the_way_to_lost_time_leads_to_the_days_and_the_jobs_of_the_evidence(
    told: Path, ago: int, days: str
) -> None:
    since = found.SINCE - timedelta(days=ago)
    page = open_page(OVERVIEW, days="7", workload="production", weight="wall", team="feed")
    page.switch_page(PAGE)
    page.query_params.update(TOLD | {"day": since.isoformat()})
    page.run()
    next(button for button in page.button if button.label == "Lost time").click().run()

    assert {"area": "trainer_init", "team": "feed", "days": int(days)} == {
        name: page.session_state[name] for name in ("area", "team", "days")
    }
    assert ("all", "gpu") == (page.session_state["workload"], page.session_state["weight"])


def test_no_way_leads_to_days_that_no_page_reaches(warehouse: Path) -> None:
    began = serving.LAST_DAY - timedelta(days=100)
    over = {"state": "closed", "ended_on": began, "closed_on": began + timedelta(days=1)}
    publish(warehouse, {"regressions": [found.found(since=began, **over)]})
    page = open_page(PAGE, **TOLD)

    assert "Lost time" not in [button.label for button in page.button]
    assert "Lost time reaches back 90 days: not to the days of this." in said(page)


def test_the_sentence_and_its_numbers_stand_on_top(told: Path) -> None:
    page = open_page(PAGE, **TOLD)

    assert any("Trainer init for feed: 2 min 30 s -&gt; 4 min 38 s." in text for text in raw(page))
    assert {
        "Before": "2 min 30 s",
        "Now": "4 min 38 s",
        "Change": "+85 %",
        "GPU-hours a day": "94.0",
        "Found after": "2 days",
    } == numbers(page)
    assert "316 attempts" in said(page)
    assert "294 attempts" in said(page)


def test_the_evidence_has_all_its_cards(told: Path) -> None:
    page = open_page(PAGE, **TOLD)

    assert [
        "The days around it",
        "Phases",
        "Before and after",
        "Speed or mix",
        "Jobs",
        "Failures and preemptions",
        "What else moved",
        "Gates",
    ] == headings(page)[1:]
    assert [] == failed(page)


def test_the_agreed_days_to_find_it_are_compared(told: Path) -> None:
    soon, late = (
        open_page(PAGE, **asked)
        for asked in (TOLD, {"team": "ads", "metric": "checkpoint_save_seconds"})
    )

    found_on = words.day(found.SINCE + timedelta(days=2))
    # dumps may have come later than the days that they tell of
    agreed = f"within the 7 days agreed] \u00b7 by the data to {found_on}"
    assert any(text.endswith(agreed) for text in said(soon))
    assert any("later than the 7 days agreed" in text for text in said(late))


def test_gates_stand_beside_their_thresholds(told: Path) -> None:
    tables = [each.value for each in open_page(PAGE, **TOLD).dataframe]
    gates = next(table for table in tables if "needed" in table)

    assert ["84 days", "1.75"] == gates["measured"].tolist()
    assert ["at least 42 days", "at least 1.00"] == gates["needed"].tolist()


@pytest.mark.parametrize(
    ("days", "is_passed", "shown"),
    [
        (4.0, True, ("4 days, goes on", "at least 6 days, or goes on")),
        (9.0, True, ("9 days", "at least 6 days")),
        (4.0, False, ("4 days", "at least 6 days")),
    ],
)
def test_what_is_young_passes_as_no_incident_because_it_goes_on(
    days: float, is_passed: bool, shown: tuple[str, str]
) -> None:
    row = {"gate": "went_away", "value": days, "limit_value": 6.0, "is_passed": is_passed}

    assert shown == regression_words.gate(row)[1:]


def test_a_share_of_little_is_said_to_show_no_change_that_it_can_have(warehouse: Path) -> None:
    rows = found.whole()
    near = found.found(metric="ett_ratio", state="held_back", held_back_by="not_enough_evidence")
    quiet = [row | {"smallest_change_ratio": None} for row in rows["quiet_series"]]
    publish(warehouse, {**rows, "regressions": [near], "quiet_series": quiet})
    page = open_page(PAGE, team="feed", metric="ett_ratio")

    assert any("No change that this series can have would show now" in text for text in said(page))


@pytest.mark.parametrize(
    ("gate", "value", "limit", "shown"),
    [
        ("not_enough_evidence", 0.9987, 1.0, "0.99"),
        ("not_enough_evidence", 1.004, 1.0, "1.00"),
        ("too_few_attempts", 4.7, 5.0, "4"),
        ("too_few_days", 2.0, 3.0, "2 days"),
    ],
)
def test_what_fell_short_by_little_is_not_shown_as_its_limit(
    gate: str, value: float, limit: float, shown: str
) -> None:
    row = {"gate": gate, "value": value, "limit_value": limit, "is_passed": value >= limit}

    assert shown == regression_words.gate(row)[1]


def test_the_split_is_said_to_be_on_means(told: Path) -> None:
    page = open_page(PAGE, **TOLD)

    assert "On means: 2 min 43 s \u2192 4 min 50 s, **+2 min 7 s**" in said(page)


def test_days_before_and_after_are_said_to_be_as_they_were_told(told: Path) -> None:
    assert any(
        text.startswith("A dot is a day as it was told") for text in said(open_page(PAGE, **TOLD))
    )


def test_what_was_rolled_out_on_the_first_day_is_named(told: Path) -> None:
    page = open_page(PAGE, **TOLD)

    assert any(
        "` trainer 8.0 ` was rolled out to all teams on the first day: ` a new compiler `" in text
        for text in said(page)
    )


def test_evidence_that_is_missing_is_said_card_by_card(told: Path) -> None:
    page = open_page(PAGE, team="search", metric="failures_network")

    assert [] == failed(page)
    assert any("No days are kept for this series." in text for text in said(page))
    assert any("No gate was asked." in text for text in said(page))


def test_a_change_of_the_fleet_needs_no_team_in_the_link(told: Path) -> None:
    page = open_page(PAGE, metric="preemption_ratio")

    assert "` Preemption ratio ` of ` all teams `" == headings(page)[0]


# -- links that lead nowhere ---------------------------------------------------------------------


def test_a_day_that_moved_opens_the_nearest_and_says_so(told: Path) -> None:
    moved = found.SINCE - timedelta(days=1)
    page = open_page(PAGE, **TOLD, day=moved.isoformat())

    assert any(f"began on {words.day(moved)} {moved.year}." in text for text in warnings(page))
    assert any("**open**" in text for text in said(page))


@pytest.mark.parametrize("day", ["yesterday", "2026-13-45", "'; drop table regressions; --"])
def test_a_day_that_is_no_day_opens_the_newest_and_says_so(told: Path, day: str) -> None:
    page = open_page(PAGE, **TOLD, day=day)

    assert any("is not a day" in text for text in warnings(page))
    assert any("**open**" in text for text in said(page))


def test_a_series_that_is_quiet_says_why(told: Path) -> None:
    page = open_page(PAGE, team="feed", metric="ett_ratio")

    assert any("no more than chance would do" in text for text in warnings(page))


def test_an_unknown_measure_is_a_sentence(told: Path) -> None:
    page = open_page(PAGE, team="feed", metric="<b>luck</b>")

    assert ["There is no series ` <b>luck</b> ` of ` feed ` in this warehouse."] == warnings(page)


# -- bad input -----------------------------------------------------------------------------------


def test_a_warehouse_from_before_is_no_error(fleet: Path) -> None:
    for asked in ({}, TOLD):
        page = open_page(PAGE, **asked)

        assert "Regressions" == page.title[0].value
        assert [] == failed(page)
        assert any("published before regressions were looked for" in text for text in said(page))


def test_a_detector_that_failed_is_said_on_the_page_in_the_sidebar_and_on_overview(
    warehouse: Path,
) -> None:
    publish(warehouse, found.whole())
    found.fail(queries.published(warehouse), REASON)

    for asked in ({}, TOLD):
        page = open_page(PAGE, **asked)

        assert "Regressions (?)" == page.title[0].value
        assert any("Cannot be judged" in each.value for each in page.error)
        assert not any("Nothing is open" in text for text in said(page))
    overview = open_page()

    assert [] == failed(overview)
    assert any("Cannot be judged" in each.value for each in overview.error)


def test_a_table_that_fails_takes_down_its_own_card_only(warehouse: Path) -> None:
    publish(warehouse, found.whole())
    with duckdb.connect(str(queries.published(warehouse))) as connection:
        connection.execute("drop table regression_parts")
        connection.execute("drop macro table interruptions_by_day")
    page = open_page(PAGE, **TOLD)

    assert ["regression_parts"] == failed(page)
    assert "Gates" in headings(page)


def test_hostile_names_are_shown_as_text(warehouse: Path) -> None:
    found.add(serving.publish(warehouse, serving.hostile()), found.hostile())
    listed = open_page(PAGE)
    page = open_page(PAGE, team=serving.HOSTILE, metric=f"failures_{serving.HOSTILE}")

    assert [serving.HOSTILE] == listed.dataframe[0].value["team"].tolist()
    assert not any("<script>" in text for text in (*said(page), *raw(page)))
    assert any("&lt;script&gt;" in text for text in raw(page))
    assert any(words.code(serving.HOSTILE) in text for text in headings(page))
    assert any("was rolled out to" in text for text in said(page))


def test_nulls_in_every_column_that_may_be_null_are_no_error(warehouse: Path) -> None:
    nothing = dict.fromkeys(
        (
            "severity",
            "verdict",
            "observed",
            "expected",
            "change_ratio",
            "lost_gpu_seconds_per_day",
            "attempts_before",
            "attempts_after",
            "detected_on",
            "days_to_detect",
            "is_within_sla",
            "sentence",
        )
    )
    publish(warehouse, {"regressions": [found.found() | nothing]})

    assert ["feed"] == open_page(PAGE).dataframe[0].value["team"].tolist()
    assert words.UNKNOWN == numbers(open_page(PAGE, **TOLD))["Before"]


@pytest.mark.parametrize(
    ("metric", "verdict", "meaning"),
    [
        ("failures_storage", "failures", "jobs fail more often"),
        # as many may fail as before: of late saves more is discarded
        ("unsaved_ratio", "failures", "ends discard more of what was trained"),
        ("ett_ratio", "slower", "less of the time trains"),
        ("stalled_ratio", "slower", "training stands still for longer"),
        ("stalled_ratio", "mix", "sizes or classes of jobs shifted"),
    ],
)
def test_a_share_is_not_said_to_be_more_failures_or_slower_work(
    warehouse: Path, metric: str, verdict: str, meaning: str
) -> None:
    row = found.found() | {"metric": metric, "verdict": verdict}
    publish(warehouse, {"regressions": [row]})
    page = open_page(PAGE, team="feed", metric=metric)

    assert any(f": {meaning}" in text for text in markdown(page))


@pytest.mark.parametrize(
    ("metric", "columns", "caption"),
    [
        ("trainer_init_seconds", ["took", "its class before"], "Over what their class of work"),
        ("unsaved_ratio", ["lost on the day"], "What their ends, or their stalls, cost."),
        ("ett_ratio", ["lost on the day"], "All of their time that did not train."),
    ],
)
def test_what_an_attempt_contributes_to_a_share_is_not_over_anything(
    warehouse: Path, metric: str, columns: list[str], caption: str
) -> None:
    rows = found.whole()
    publish(
        warehouse,
        {
            "regressions": [found.found() | {"metric": metric}],
            "regression_jobs": [row | {"metric": metric} for row in rows["regression_jobs"]],
        },
    )
    page = open_page(PAGE, team="feed", metric=metric)
    [jobs] = [table.value for table in page.dataframe if "job_id" in table.value]

    assert columns == jobs.columns[6:].tolist()
    assert any(each.value.startswith(caption) for each in page.caption)


def test_evidence_on_unknown_gpus_is_in_wall_hours_and_by_number(warehouse: Path) -> None:
    rows = found.whole()
    key = {name: found.found()[name] for name in ("team", "metric", "started_on")}
    publish(
        warehouse,
        {
            "regressions": [found.found(lost_gpu_seconds_per_day=None)],
            "regression_jobs": [
                row | {"excess_gpu_seconds": None} for row in rows["regression_jobs"]
            ],
            "regression_causes": [
                key
                | {"failure_domain": "infra", "failure_category": name}
                | {"before_per_day": 1.0, "after_per_day": after}
                for name, after in (("few", 1.5), ("many", 4.0))
            ],
        },
    )
    page = open_page(PAGE, **TOLD)
    [jobs] = [table.value for table in page.dataframe if "wall hours" in table.value]
    [causes] = [table.value for table in page.dataframe if "cause" in table.value]

    assert words.UNKNOWN == numbers(page)["GPU-hours a day"]
    assert "no GPUs are known" in said(page)
    assert [240 / 3600] == jobs["wall hours"].tolist()
    assert ["infra/many", "infra/few"] == causes["cause"].tolist()


def test_a_publish_without_events_is_no_error(warehouse: Path) -> None:
    found.add(serving.publish(warehouse, serving.empty()), {})
    page = open_page(PAGE)

    assert [] == failed(page)


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("tts_seconds", "Time to start"),
        ("trainer_init_seconds", "trainer_init"),
        ("trainer_init_device_init_seconds", "trainer_init \u00b7 device_init"),
        ("failures_gpu_hardware", "Failures (gpu hardware)"),
        ("something_new", "something_new"),
    ],
)
def test_a_measure_has_a_name(metric: str, name: str) -> None:
    assert name == regression_words.measure(metric)


@pytest.mark.parametrize(
    ("metric", "observed", "lost", "shown"),
    [
        ("tts_seconds", 252.0, 1.0, "4 min 10 s \u2192 4 min 12 s"),
        ("failures", 260.0, 1.0, "250 \u2192 260 per 1,000 GPU-days"),
        ("failures", 260.0, None, "250 \u2192 260 per 1,000 attempt-days"),
        ("failures", None, 1.0, f"250 \u2192 {words.UNKNOWN}"),
    ],
)
def test_a_change_has_the_unit_of_its_measure(
    metric: str, observed: float | None, lost: float | None, shown: str
) -> None:
    row = {"metric": metric, "expected": 250.0, "observed": observed}

    assert shown == regression_words.change_of(row | {"lost_gpu_seconds_per_day": lost})


def test_an_unknown_cost_of_known_gpus_does_not_change_the_unit() -> None:
    row = {"metric": "failures", "expected": 250.0, "observed": 260.0, "is_gpu_weighed": True}
    row["lost_gpu_seconds_per_day"] = None

    assert "250 \u2192 260 per 1,000 GPU-days" == regression_words.change_of(row)
    assert "no source says what the jobs did" == regression_words.uncosted(row)


def test_the_days_of_one_that_is_over_are_told_by_the_first_and_the_last() -> None:
    row = {"started_on": date(2026, 3, 2)}

    assert "since Mon 2 Mar" == regression_words.span(row)
    assert "on Mon 2 Mar" == regression_words.span(row | {"ended_on": date(2026, 3, 2)})
    assert "from Mon 2 Mar to Fri 6 Mar" == regression_words.span(
        row | {"ended_on": date(2026, 3, 6)}
    )


# -- charts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_charts_are_what_plotly_takes(palette: Palette) -> None:
    points = pl.DataFrame(found.whole()["regression_points"])
    before = points.filter(pl.col("day") < found.SINCE)
    stops = pl.DataFrame(
        {
            "day": [found.SINCE],
            "attribution": ["infra"],
            "failure_domain": ["<b>network</b>"],
            "interruptions": [2],
        }
    )
    changes = pl.DataFrame(found.whole()["changes"])
    figures = [
        regression.series(
            points,
            "feed",
            "trainer_init_seconds",
            [regression.Mark(found.SINCE, "since", is_first=True)],
            changes,
            (stops, shades(stops, palette)),
            palette,
            420,
        ),
        regression.days_apart(before, points.clear(), "ett_ratio", palette),
        regression.split("failures", 3.0, -1.0, palette),
    ]
    drawn = [go.Figure(figure.to_dict()) for figure in figures]  # raises on what is not plotly's

    assert [8, 4, 2] == [len(figure.data) for figure in drawn]
    assert "&lt;b&gt;network&lt;/b&gt;" == drawn[0].data[-1].name


def test_ticks_of_a_small_share_are_named_apart() -> None:
    days = pl.DataFrame(
        {
            "day": [date(2026, 3, 1) + timedelta(days=place) for place in range(4)],
            "observed": [0.0010, 0.0012, 0.0018, 0.0021],
            "attempts": [3] * 4,
        }
    )
    figure = regression.days_apart(days.head(2), days.tail(2), "unsaved_ratio", LIGHT)

    assert "~%" == figure.layout.xaxis.tickformat


def test_days_are_ticked_at_the_percentiles_that_every_page_has() -> None:
    values = (90.0, 10.0, 40.0, 20.0)
    days = pl.DataFrame(
        {
            "day": [found.SINCE + timedelta(days=number) for number in range(len(values))],
            "observed": values,
            "attempts": [3] * len(values),
        }
    )
    figure = regression.days_apart(days, days.head(3), "trainer_init_seconds", LIGHT)
    ticks = [trace.x for trace in figure.data if trace.mode == "lines"]

    # nearest rank: p50 and p90 are days that there were
    assert [[20.0, 20.0], [90.0, 90.0], [40.0, 40.0], [90.0, 90.0]] == [[*tick] for tick in ticks]


def test_a_day_without_attempts_is_a_gap_in_the_line() -> None:
    points = pl.DataFrame(found.whole()["regression_points"])
    nothing = pl.DataFrame(schema={"attribution": pl.String, "failure_domain": pl.String})
    figure = regression.series(
        points,
        "feed",
        "trainer_init_seconds",
        [],
        pl.DataFrame(schema={"day": pl.Date, "name": pl.String, "description": pl.String}),
        (nothing, []),
        LIGHT,
        420,
    )
    [line] = [trace for trace in figure.data if trace.mode == "lines+markers"]

    assert 60 == len(line.x)
    assert [26] == [place for place, value in enumerate(line.y) if math.isnan(value)]


# -- runbooks ------------------------------------------------------------------------------------


@pytest.fixture
def books(tmp_path: Path, fleet: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "runbooks"
    folder.mkdir()
    (folder / "EttRegression.md").write_text(
        "# EttRegression\n\n**Meaning.** See [design](../design.md), [stale](EttDataStale.md), "
        "[out](https://example.test/).\n"
    )
    (folder / "EttDataStale.md").write_text("# EttDataStale\n\nOld.\n")
    monkeypatch.setattr(runbooks, "FOLDER", folder)
    return folder


def test_a_runbook_is_shown_with_links_that_lead_somewhere(books: Path) -> None:
    page = open_page(RUNBOOK, alert="EttRegression")

    assert ["` EttRegression `"] == headings(page)
    assert any(
        "See design, [stale](runbook?alert=EttDataStale), [out](https://example.test/)." in text
        for text in said(page)
    )


@pytest.mark.parametrize("alert", ["", "EttNobody", "../../etc/passwd"])
def test_an_unknown_runbook_lists_those_that_exist(books: Path, alert: str) -> None:
    page = open_page(RUNBOOK, alert=alert)

    assert bool(alert) == any("There is no runbook" in text for text in warnings(page))
    assert any("Every alert" in text for text in said(page))
    assert [] == headings(page)


def test_without_runbooks_the_page_says_where_they_are(
    books: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runbooks, "FOLDER", books / "nowhere")
    page = open_page(RUNBOOK)

    assert any("not installed here" in text for text in said(page))
