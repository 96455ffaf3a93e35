"""Failures & preemption on a small ingested fleet: its numbers by hand, and what may be amiss."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

import queries
from ingest import cli
from tests.app import serving
from tests.app.dumps import Event, attempt, ingest
from tests.app.opening import markdown, open_page, said, warnings

FAILURES = "views/failures.py"
START = datetime(2026, 3, 1, 6)
NVLINK = "gpu_hardware/nvlink_error"


def fleet_events() -> list[Event]:
    """Eight ended attempts: one stopped by infra, one preempted, two for unknown reasons."""
    day = timedelta(days=1)
    return [
        *attempt(
            "link", 1, START, trains=3600, outcome="failed", category=NVLINK, message="Xid 74"
        ),
        *attempt("link", 2, START + timedelta(hours=2), trains=3600),
        *attempt("taken", 1, START + day, trains=1800, outcome="preempted", gpus=16),
        *attempt("taken", 2, START + day + timedelta(hours=1), trains=1800, gpus=16),
        *attempt("odd", 1, START + day, trains=900, outcome="failed", message="went bang"),
        *attempt("odd", 2, START + day + timedelta(hours=1), trains=900, outcome="timeout"),
        *attempt("calm", 1, START, trains=7200, team="feed"),
        *attempt("calm-2", 1, START + day, trains=7200, team="feed", workload="exploration"),
    ]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(tmp_path_factory.mktemp("stopped"), fleet_events(), START + timedelta(days=2))


def beside(team: str, *, gpus: int | None = 8, **ended: str) -> list[Event]:
    """The eight as attempts of this team, and five more of its own, stopped by infra."""
    named = ({**each, "job_id": f"{team} {each['job_id']}"} for each in fleet_events())
    told = [{**each, "team": team} if "team" in each else each for each in named]
    stop = {"outcome": "failed", "category": NVLINK, **ended}
    for number in range(5):
        told += attempt(f"{team} {number}", 1, START, trains=60, gpus=gpus, team=team, **stop)
    return told


@pytest.fixture(scope="module")
def ingested_teams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    events = [
        *beside("taken by infra", outcome="preempted"),
        *beside("of unknown size", gpus=None),
    ]
    return ingest(tmp_path_factory.mktemp("teams"), events, START + timedelta(days=2))


@pytest.fixture
def teams(ingested_teams: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each of these teams is a fleet of its own; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested_teams))
    return ingested_teams


@pytest.fixture
def stopped(ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of the eight attempts; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested))
    return ingested


def numbers(page: AppTest) -> dict[str, str]:
    return {
        metric.label: metric.value.removeprefix(":gray[").removesuffix("]")
        for metric in page.metric
    }


def test_the_page_counts_infra_only_and_says_what_it_leaves_out(stopped: Path) -> None:
    page = open_page(FAILURES, days="7")

    assert (
        "Counted below: 1 of 4 interruptions. Not counted, by attribution: scheduler 2, unknown 1; "
        "choose all to see them."
    ) in said(page)
    assert [NVLINK] == evidence_of(page).value["cause"].tolist()


def test_a_preemption_that_infra_caused_is_not_said_to_be_left_out(teams: Path) -> None:
    page = open_page(FAILURES, days="7", attribution="infra", team="taken by infra")

    assert any(
        "Counted below: 6 of 9 interruptions. Not counted, by attribution: scheduler 2," in text
        for text in said(page)
    )


def test_the_numbers_are_those_of_the_attempts(stopped: Path) -> None:
    gpu_days = (8 * 3700 * 2 + 16 * 1900 * 2 + 8 * 1000 * 2 + 8 * 7300 * 2) / 86400
    shown = numbers(open_page(FAILURES, days="7", attribution="all"))

    assert f"{4 / gpu_days * 1000:,.1f}" == shown["Per 1,000 GPU-days"]
    assert "1 h 56 min" == shown["Time between them"]  # 27,800 s of wall time, four times stopped
    assert "12.5 %" == shown["Preemption ratio"]
    assert "25.0 %" == shown["Infra share"]
    assert "25.0 %" == shown["Uncategorised"]


def test_a_share_that_is_neither_better_nor_worse_is_lower_or_higher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    week = timedelta(days=7)
    events = [
        event
        for number in range(5)
        for begins, category in ((START - week, NVLINK), (START, None))
        for event in attempt(
            f"{begins:%d}-{number}", 1, begins, trains=60, outcome="failed", category=category
        )
    ]
    events += attempt("first", 1, START - 2 * week, trains=60)
    ingest(tmp_path, events, START.replace(hour=0) + timedelta(days=1))
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    [share] = [each for each in open_page(FAILURES, days="7").metric if each.label == "Infra share"]

    assert ("-100.0 pp", "lower") == (share.delta, share.proto.delta_description)


@pytest.mark.parametrize(("seconds", "told"), [(60.0, "180k"), (1200.0, "9,000.0")])
def test_a_rate_of_a_few_gpu_seconds_is_still_read_at_a_glance(
    warehouse: Path, seconds: float, told: str
) -> None:
    short = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": seconds}, "failed")
    serving.publish(warehouse, serving.Warehouse(attempts=[short]))
    shown = numbers(open_page(FAILURES, days="7", attribution="all"))

    assert told == shown["Per 1,000 GPU-days"]


def test_gpu_days_are_held_against_interruptions_of_known_gpus_alone(teams: Path) -> None:
    page = open_page(FAILURES, days="7", attribution="infra", team="of unknown size")

    assert "1 of 6 interruptions, those of known GPUs, in 2.9 GPU-days" in said(page)
    assert "one in 70.2 GPU-hours of known GPUs" in said(page)
    assert any("of 1 of 6 interruptions whose GPUs are known: training" in t for t in said(page))


def test_what_ends_took_that_no_source_looked_into_is_said_to_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduled = tmp_path / "sacct.txt"
    scheduled.write_text(
        "JobID|State|Start|End|AllocTRES\n"
        "1|NODE_FAIL|2026-03-01T10:00:00|2026-03-01T12:00:00|gres/gpu=8\n"
        "2|PREEMPTED|2026-03-02T10:00:00|2026-03-02T12:00:00|gres/gpu=8\n"
    )
    both = tmp_path / "both"
    both.mkdir()
    ingest(both, fleet_events(), START + timedelta(days=2))
    told = []
    for warehouse in (tmp_path / "alone", both):
        assert 0 == cli.main(["--warehouse", str(warehouse), str(scheduled)])
        monkeypatch.setenv("ETT_WAREHOUSE", str(warehouse))
        told.append(said(open_page(FAILURES, days="7", attribution="all")))
    alone, beside = told

    assert any("No source says what these jobs did, and so what this took" in t for t in alone)
    assert not any("0 GPU-hours in all" in text for text in alone)
    assert any("What these interruptions took is unknown" in text for text in alone)
    assert any("of 1 of 2 interruptions of which that is known: training" in t for t in beside)


def test_failures_are_told_without_preemptions_too(stopped: Path) -> None:
    gpu_days = (8 * 3700 * 2 + 16 * 1900 * 2 + 8 * 1000 * 2 + 8 * 7300 * 2) / 86400
    of_infra, of_all = (
        [text for text in said(open_page(FAILURES, days="7", attribution=counted))
         if text.startswith("Without preemptions")]
        for counted in ("infra", "all")
    )  # fmt: skip

    assert [
        "Without preemptions: 1 infra failure \u00b7 one in 7 h 43 min of attempts \u00b7 "
        f"one in {gpu_days * 24:.1f} GPU-hours, {1000 / gpu_days:,.1f} per 1,000 GPU-days."
    ] == of_infra
    assert [
        "Without preemptions: 3 failures \u00b7 one in 2 h 34 min of attempts \u00b7 "
        f"one in {gpu_days * 24 / 3:.1f} GPU-hours, {3000 / gpu_days:,.1f} per 1,000 GPU-days."
    ] == of_all


def test_a_page_in_gpu_hours_does_not_claim_that_every_attempt_counts_the_same(
    stopped: Path,
) -> None:
    by_wall = open_page(FAILURES, days="7", weight="wall")
    drawn = [chart.proto.alt for chart in by_wall.get("plotly_chart")]

    assert drawn
    assert [] == [text for text in [*said(by_wall), *drawn] if "every attempt counts" in text]
    assert numbers(open_page(FAILURES, days="7")) == numbers(by_wall)


def test_the_same_ratio_stands_on_the_overview(stopped: Path) -> None:
    here, there = (numbers(open_page(path, days="7")) for path in (FAILURES, "views/overview.py"))

    assert there["Preemption ratio"] == here["Preemption ratio"]


def test_all_counts_every_interruption(stopped: Path) -> None:
    page = open_page(FAILURES, days="7", attribution="all")
    causes = evidence_of(page).value["cause"].tolist()

    assert {NVLINK, "scheduler/preempted", "unknown/unclassified", "scheduler/time_limit"} == set(
        causes
    )


def test_what_an_interruption_said_stands_beside_its_cause(stopped: Path) -> None:
    table = evidence_of(open_page(FAILURES, days="7"))
    shown = list(table.proto.column_order)

    assert ["cause", "attribution", "failure_evidence", "team"] == shown[2:6]
    assert [True] == table.value["failure_evidence"].notna().tolist()
    assert "message" not in shown


def test_the_dearest_interruption_comes_first(stopped: Path) -> None:
    table = evidence_of(open_page(FAILURES, days="7", attribution="all")).value

    assert ["taken", "link", "odd", "odd"] == table["job_id"].tolist()
    assert sorted(table["lost_gpu_hours"], reverse=True) == table["lost_gpu_hours"].tolist()
    # what was not saved, and the start-up of the second try
    assert pytest.approx(16 * (1800 + 100) / 3600) == table["lost_gpu_hours"].iloc[0]


def test_a_cause_in_the_link_limits_the_evidence(stopped: Path) -> None:
    page = open_page(FAILURES, days="7", attribution="all", cause="scheduler/preempted")

    assert ["taken"] == evidence_of(page).value["job_id"].tolist()


@pytest.mark.parametrize(("name", "value"), [("attribution", "nobody"), ("cause", "gremlins")])
def test_a_link_that_asks_for_what_is_not_there_is_answered(
    stopped: Path, name: str, value: str
) -> None:
    page = open_page(FAILURES, **{"days": "7", name: value})

    assert any(f"asks for {name} = ` {value} `" in text for text in warnings(page))
    assert page.metric


def test_a_team_without_interruptions_says_so(stopped: Path) -> None:
    page = open_page(FAILURES, days="7")
    page.sidebar.selectbox[0].set_value("feed").run()

    assert any("There were no infra interruptions" in text for text in said(page))


def test_evidence_is_shown_where_the_warehouse_has_it(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"failure_rule", "failure_evidence"} <= open_evidence(ingested, monkeypatch)

    older = Path(shutil.copytree(ingested, tmp_path / "older"))
    with duckdb.connect(str(queries.published(older))) as connection:
        connection.execute("alter table attempts drop column failure_rule")
        connection.execute("alter table attempts drop column failure_evidence")

    assert "failure_rule" not in open_evidence(older, monkeypatch)


def open_evidence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setenv("ETT_WAREHOUSE", str(folder))
    return set(evidence_of(open_page(FAILURES, days="7")).value.columns)


def test_messages_that_no_rule_knows_are_listed(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    with duckdb.connect(str(queries.published(copy))) as connection:
        connection.execute(
            "create or replace table unmatched_messages as select 'went <*>' as template, "
            "2 as count, 'went bang' as example, now()::timestamp as first_seen_at, "
            "now()::timestamp as last_seen_at"
        )
    page = open_page(FAILURES, days="7")

    assert ["went <*>"] == page.dataframe[-1].value["template"].tolist()


def test_a_view_that_fails_takes_down_its_own_card_only(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    with duckdb.connect(str(queries.published(copy))) as connection:
        for macro in ("window_causes", "window_ends", "window_domains"):
            connection.execute(f"drop macro table {macro}")
    page = open_page(FAILURES, days="7", attribution="all")
    failed = {each.value.split("`")[1] for each in page.error if "could not be read" in each.value}

    assert {"window_causes", "window_ends", "window_domains"} == failed
    assert {"link", "taken", "odd"} == set(evidence_of(page).value["job_id"])


def test_a_hostile_fleet_is_shown_as_text(warehouse: Path) -> None:
    serving.publish(warehouse, serving.hostile())
    page = open_page(FAILURES, attribution="all")

    assert not any("<script>" in text for text in markdown(page))
    assert serving.HOSTILE in evidence_of(page).value["team"].tolist()


def test_an_empty_warehouse_is_no_error(warehouse: Path) -> None:
    serving.publish(warehouse, serving.empty())
    page = open_page(FAILURES)

    assert not page.error
    assert any("holds no attempts yet" in text for text in said(page))


def test_a_cause_that_is_no_longer_counted_gives_way_to_any(stopped: Path) -> None:
    page = open_page(FAILURES, days="7", attribution="all", cause="scheduler/preempted")
    page.segmented_control(key="attribution").set_value("infra").run()

    assert not page.exception
    assert ["link"] == evidence_of(page).value["job_id"].tolist()


def evidence_of(page: AppTest) -> Any:
    """The table of interruptions: below it there may be one of unmatched messages."""
    return next(table for table in reversed(page.dataframe) if "job_id" in table.value.columns)


def test_where_all_is_counted_and_chosen_nothing_more_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    ingest(tmp_path, attempt("calm", 1, START, trains=7200), START + timedelta(days=2))
    sentences = said(open_page(FAILURES, attribution="all"))

    assert 4 == sentences.count("There were no interruptions in these days.")
    assert not any("hoose any cause" in each for each in sentences)


def test_a_team_that_is_chosen_is_not_said_to_be_among_those_that_lost_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    told = (
        attempt(f"{place}", 1, START, trains=3600 - 60 * place, team=f"t{place}", outcome="failed")
        for place in range(14)
    )
    ingest(tmp_path, [event for events in told for event in events], START + timedelta(days=2))
    of_fleet, of_last = (
        [each for each in said(open_page(FAILURES, attribution="all", team=team)) if "CSV" in each]
        for team in ("fleet", "t13")
    )

    assert ["The 12 teams that lost most to interruptions; 2 more are in the CSV."] == of_fleet
    assert [
        "The 11 teams that lost most to interruptions, and ` t13 `; 2 more are in the CSV."
    ] == (of_last)
