"""Checkpoints on a small ingested fleet: measured and modelled by hand, the explorer's state."""

from __future__ import annotations

import shutil
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import queries
from app import saves
from app.charts.saving import agreement
from app.palette import LIGHT
from app.warehouse import connect
from queries import model
from tests.app import serving
from tests.app.dumps import STARTUP, Event, attempt, ingest
from tests.app.macros import rows
from tests.app.opening import markdown, open_page, said, warnings

CHECKPOINTS = "views/checkpoints.py"
START = datetime(2026, 3, 1, 6)
WINDOW = (START.date(), START.date() + timedelta(days=1))


def fleet_events() -> list[Event]:
    """`often` saves every 10 minutes and is stopped six times; `rarely` hourly; `once` once."""
    often = [
        event
        for number in range(1, 7)
        for event in attempt(
            "often",
            number,
            START + timedelta(hours=2 * number),
            trains=3600,
            saves_every=600,
            outcome="failed",
        )
    ]
    return [
        *often,
        *attempt("often", 7, START + timedelta(hours=14), trains=3600, saves_every=600),
        *attempt("rarely", 1, START, trains=4 * 3600, saves_every=3600, gpus=64, team="feed"),
        *attempt("once", 1, START, trains=1000, saves_every=600, outcome="failed", team="feed"),
    ]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(tmp_path_factory.mktemp("saved"), fleet_events(), START + timedelta(days=2))


@pytest.fixture
def saved(ingested: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The warehouse of the three jobs; read it only."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(ingested))
    return ingested


def macro(folder: Path, sql: str, *parameters: object) -> list[dict[str, object]]:
    # as the pages do, which may have it open: one process cannot open a file in two ways
    with closing(connect(queries.published(folder))) as connection:
        return rows(connection, sql, *parameters)


def test_an_attempt_has_the_median_of_its_own_intervals(ingested: Path) -> None:
    found = macro(ingested, "from checkpointing order by job_id, attempt")

    assert [("often", 5, 600e6, 15e6)] * 7 + [
        ("once", 1, None, 15e6),
        ("rarely", 3, 3600e6, 15e6),
    ] == [(row["job_id"], row["saves"], row["interval_us"], row["blocked_us"]) for row in found]


def test_measured_stands_beside_modelled_of_the_same_attempts(ingested: Path) -> None:
    [found] = macro(ingested, "from window_checkpoints('fleet', 'all', $1, $2, 'wall')", *WINDOW)

    # often: stopped 600 s after the start of its last save, 15 s of them in the save
    assert pytest.approx(6 * 585) == found["measured_unsaved_seconds"]
    assert pytest.approx(6 * 300) == found["modelled_unsaved_seconds"]
    assert pytest.approx(7 * 5 * 15 + 3 * 15) == found["measured_blocked_seconds"]
    assert pytest.approx(7 * 6 * 15 + 4 * 15) == found["modelled_blocked_seconds"]
    # once: saved once, so it has no interval
    assert (9, 8) == (found["attempts"], found["attempts_with_interval"])
    assert pytest.approx(6 * 585 + 385) == found["unsaved_seconds"]


@pytest.mark.parametrize(("weight", "gpus"), [("wall", (1, 1, 1)), ("gpu", (8, 64, 8))])
def test_interruptions_a_day_are_of_the_train_loop(
    ingested: Path, weight: str, gpus: tuple[int, int, int]
) -> None:
    sql = f"from window_checkpoints('fleet', 'all', $1, $2, '{weight}')"
    [found] = macro(ingested, sql, *WINDOW)
    often, rarely, once = gpus
    days = (7 * 3600 * often + 4 * 3600 * rarely + 1000 * once) / 86400

    assert 7 == found["interruptions"]
    assert pytest.approx((6 * often + once) / days) == found["interruptions_per_job_day"]


@pytest.mark.parametrize(("weight", "gpus"), [("wall", (1, 1)), ("gpu", (8, 64))])
def test_what_still_runs_is_train_loop_that_was_not_interrupted(
    tmp_path: Path, weight: str, gpus: tuple[int, int]
) -> None:
    """It was last heard of a day later."""
    steady = attempt("steady", 1, START, trains=40 * 3600, saves_every=3600, gpus=64)[:-1]
    ingest(tmp_path, [*fleet_events(), *steady], START + timedelta(days=2))
    often, large = gpus
    ended = 7 * 3600 * often + 4 * 3600 * large + 1000 * often
    until_midnight = 18 * 3600 - STARTUP

    [found] = macro(
        tmp_path, f"from window_checkpoints('fleet', 'all', $1, $1, '{weight}')", START.date()
    )

    assert 9 == found["attempts"]
    assert (
        pytest.approx(7 * often * 86400 / (ended + until_midnight * large))
        == (found["interruptions_per_job_day"])
    )


@pytest.mark.parametrize(
    ("weight", "gpus", "rate"), [("wall", None, 0), ("gpu", 8, 0), ("gpu", None, None)]
)
def test_where_all_still_run_it_is_known_that_nothing_was_interrupted(
    tmp_path: Path, weight: str, gpus: int | None, rate: float | None
) -> None:
    """It was last heard of on the next day, which is not complete."""
    steady = attempt("steady", 1, START, trains=40 * 3600, saves_every=3600, gpus=gpus)[:-1]
    ingest(tmp_path, steady, START + timedelta(days=2))
    day = START.date()

    found, fleet = (
        macro(tmp_path, f"from window_checkpoints('{team}', 'all', $1, $1, '{weight}')", day)[0]
        for team in ("ranking", "fleet")
    )

    assert rate == fleet["fleet_interruptions_per_job_day"]
    assert (0, 0, rate) == (
        found["attempts"],
        found["interruptions"],
        found["interruptions_per_job_day"],
    )


def test_a_team_with_few_interruptions_is_judged_by_the_fleet(ingested: Path) -> None:
    sql = "from modelled_checkpoints('fleet', 'all', $1, $2, 'wall') order by job_id, attempt"
    found = macro(ingested, sql, *WINDOW)
    of_ranking = 6 / (7 * 3600 / 86400)
    of_fleet = 7 / ((7 * 3600 + 4 * 3600 + 1000) / 86400)

    assert pytest.approx([of_ranking] * 7 + [of_fleet] * 2) == [
        row["interruptions_per_day"] for row in found
    ]


@pytest.mark.parametrize(
    ("team_of_once", "says"),
    [
        ("feed", "(the fleet's, as there were fewer than five whose GPUs are known)"),
        (None, "Not measured: how often"),
    ],
)
def test_interruptions_of_unknown_size_are_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, team_of_once: str | None, says: str
) -> None:
    """All six of `ranking` are of a job whose GPUs nobody tells; its other jobs are known."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    events = [event for event in fleet_events() if event["job_id"] in ("often", "rarely")]
    for event in events:
        if event["event"] == "attempt_start":
            event |= {"team": "ranking", "gpus": None if event["job_id"] == "often" else 8}
    if team_of_once:
        events += [event for event in fleet_events() if event["job_id"] == "once"]
    ingest(tmp_path, events, START + timedelta(days=2))
    sql = "from window_checkpoints('ranking', 'all', $1, $2, 'gpu')"
    [found] = macro(tmp_path, sql, *WINDOW)
    once_a_day = 86400 / (4 * 3600 + 1000) if team_of_once else None

    assert (6, 0) == (found["interruptions"], found["weighed_interruptions"])
    # all of both saved twice; of `rarely`, one attempt, the GPUs are known
    assert (8, 1) == (found["attempts_with_interval"], found["weighed_with_interval"])
    assert found["interruptions_per_job_day"] is None
    assert pytest.approx(once_a_day) == found["fleet_interruptions_per_job_day"]

    page = open_page(CHECKPOINTS, days="7", team="ranking")

    assert any(says in text for text in said(page))
    assert any("6 interruptions of attempts that trained, GPUs of 6" in text for text in said(page))
    assert not any("nothing that trained was interrupted" in text for text in said(page))
    assert any("8 of 8 attempts that trained, GPUs of 7 unknown; of" in text for text in said(page))


def test_what_was_stopped_before_it_trained_is_not_said_to_be_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an interruption on every other page, and none of a train loop."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    saved = [event for event in fleet_events() if event["job_id"] == "rarely"]
    died = attempt("died", 1, START, trains=60, outcome="failed", team="feed")
    untrained = [event for event in died if event.get("phase") != "training"]
    ingest(tmp_path, [*saved, *untrained], START + timedelta(days=2))
    told = said(open_page(CHECKPOINTS, days="7"))

    assert "nothing that trained was interrupted" in told
    assert any("interrupted (nothing that trained was interrupted)" in text for text in told)


def test_no_gain_for_want_of_others_gpus_is_not_for_want_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPUs of `feed` are known, and nothing of it was interrupted; what was is of unknown size."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    events = [event for event in fleet_events() if event["job_id"] in ("often", "rarely")]
    for event in events:
        if event["event"] == "attempt_start" and event["job_id"] == "often":
            event["gpus"] = None
    ingest(tmp_path, events, START + timedelta(days=2))
    told = {team: said(open_page(CHECKPOINTS, days="7", team=team)) for team in ("feed", "ranking")}

    assert "the GPUs of what was interrupted are unknown" in told["feed"]
    assert not any("the GPUs of what saved are unknown" in text for text in told["feed"])
    assert "the GPUs of what saved are unknown" in told["ranking"]


def test_the_gain_is_what_the_interval_costs_above_the_best(ingested: Path) -> None:
    sql = "from checkpoint_gains('fleet', 'all', $1, $2, 'gpu') order by gain_seconds desc"
    found = {row["job_id"]: row for row in macro(ingested, sql, *WINDOW)}
    per_day = (6 * 8 + 8) / ((7 * 3600 * 8 + 4 * 3600 * 64 + 1000 * 8) / 86400)
    best = (2 * 15 * 86400 / per_day) ** 0.5
    share = per_day * 3600 / 2 / 86400 + 15 / 3600 - (per_day * best / 2 / 86400 + 15 / best)

    assert {"often", "rarely"} == found.keys()
    assert pytest.approx(best) == found["rarely"]["best_interval_seconds"]
    assert pytest.approx(4 * 3600 * 64 * share) == found["rarely"]["gain_seconds"]


def odd_savers() -> list[Event]:
    """Teams that save in ways of their own. That of `rare`, each four hours, is stopped 24 times a
    day.
    """
    base = {"job_id": "at-once", "attempt": 1, "event": "phase_start", "phase": "checkpoint_save"}
    at, until = (f"{START + timedelta(seconds=each):%Y-%m-%dT%H:%M:%SZ}" for each in (300, 310))
    short = [
        event
        for number in range(1, 25)
        for event in attempt(
            "often",
            number,
            START + timedelta(hours=number),
            trains=600,
            saves_every=200,
            outcome="failed",
            team="stopped",
        )
    ]
    ended: dict[str, Any] = {"trains": 6000, "saves_every": 600, "outcome": "failed"}
    return [
        *short,
        *attempt("rare", 1, START, trains=9 * 3600, saves_every=4 * 3600, team="stopped"),
        *attempt("plain", 1, START, blocked=0, team="ends-alone", **ended),
        *attempt("at-once", 1, START, trains=600, outcome="failed", team="at-once"),
        *({**base, "ts": at, "end_ts": until, "step": step} for step in (1, 2, 3)),
    ]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ingest(tmp_path_factory.mktemp("odd"), odd_savers(), START + timedelta(days=3))


def test_no_interval_costs_more_than_the_whole_train_loop(odd: Path) -> None:
    days = START.date(), START.date() + timedelta(days=2)
    found = macro(odd, "from checkpoint_gains('stopped', 'all', $1, $2, 'wall')", *days)
    [gain] = [row["gain_seconds"] for row in found if row["job_id"] == "rare"]
    per_day = 24 * 86400 / (24 * 600 + 9 * 3600)

    assert pytest.approx(9 * 3600 * (1 - (2 * 15 * per_day / 86400) ** 0.5)) == gain


def test_saves_of_which_the_end_alone_is_told_have_no_best_interval(
    odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(odd))
    [habits] = macro(
        odd, "from modelled_checkpoints('ends-alone', 'all', $1, $1, 'gpu')", START.date()
    )

    assert (600, 0) == (habits["interval_seconds"], habits["blocked_seconds"])
    assert (None, None) == (habits["best_interval_seconds"], habits["gain_seconds"])

    page = open_page(CHECKPOINTS, days="7", team="ends-alone")

    assert any("their ends alone are told, and not what they block" in text for text in said(page))


def test_saves_that_began_at_one_instant_have_no_interval(odd: Path) -> None:
    [habits] = macro(
        odd, "from modelled_checkpoints('at-once', 'all', $1, $1, 'gpu')", START.date()
    )

    assert (None, None) == (habits["interval_seconds"], habits["modelled_blocked_seconds"])


def test_save_times_are_those_of_the_window(ingested: Path) -> None:
    columns = "checkpoint_saves, checkpoint_save_p50_seconds, checkpoint_save_p90_seconds"
    alone, among_all = (
        macro(ingested, f"select {columns} from {view}('fleet', 'all', $1, $2)", *WINDOW)
        for view in ("window_saves", "window_of")
    )

    assert among_all == alone


def test_the_table_and_the_number_above_it_are_the_same(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7")
    shown = {metric.label: metric.value for metric in page.metric}
    total = page.dataframe[-1].value["gain_hours"].sum()

    assert f"{total:.1f}" == shown["To gain, GPU-hours"]


def test_shares_are_of_what_is_instrumented_as_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    serving.publish(
        tmp_path,
        serving.Warehouse(
            attempts=[
                serving.Attempt(
                    f"j{each}",
                    1,
                    datetime(2026, 3, 3, 9),
                    {"effective": 1800.0, "unsaved": 1200.0, "checkpoint_save": 600.0},
                )
                for each in range(5)
            ]
            + [serving.Attempt("silent", 1, datetime(2026, 3, 3, 9), {"uninstrumented": 7200.0})]
        ),
    )
    for weight, hours in (("gpu", "40.0"), ("wall", "5.0")):
        told = said(open_page(CHECKPOINTS, days="7", weight=weight))

        for share in ("33.33 %", "16.67 %"):
            assert any(f"{share} of {hours} instrumented" in text for text in told), told


def test_the_scenario_of_the_source_is_a_link(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7", b="15", f="3", i="60")

    assert any(
        "At 1 h this loses 6.67 % of train-loop time. At 15 min 30 s it would lose 3.23 %" in text
        for text in markdown(page)
    )


def test_a_gain_that_rounds_to_nothing_is_told_as_a_bound(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7", b="15", f="3", i="15")

    assert any("which is under 0.1 GPU-hours a week less" in text for text in markdown(page))


def test_a_gain_is_told_of_the_workloads_that_are_chosen(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7", workload="production", b="15", f="3", i="60")

    assert any("less for the ` production ` workloads of the fleet, whose" in t for t in said(page))


def test_where_the_model_is_too_coarse_no_gain_is_told(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7", b="15", f="50", i="240")

    assert any(
        "At 4 h this loses 100.00 % of train-loop time. At 3 min 48 s it would lose 13.18 %. More "
        "than one interruption falls into 4 h, of which the model makes too much: no gain is told."
        in text
        for text in markdown(page)
    )


def test_a_job_that_runs_for_weeks_is_told_by_what_was_measured_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five jobs are interrupted once in 20 days, and save each 8 hours for 10 minutes."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    long = {"trains": 20 * 86400.0, "saves_every": 8 * 3600.0, "blocked": 600.0}
    events = [
        event
        for job in range(5)
        for event in attempt(f"long-{job}", 1, START, **long, outcome="failed")
    ]
    ingest(tmp_path, events, START + timedelta(days=22))
    page = open_page(CHECKPOINTS, days="28")

    assert [600.0, 0.05, 480.0] == [slider.value for slider in page.select_slider]
    # 0.05 x 8 h / 2 is 0.83 %, and 10 minutes of 8 h are 2.08 %; the best is 12.65 h
    assert any(
        "At 8 h this loses 2.92 % of train-loop time. At 12 h 39 min it would lose 2.64 %" in text
        for text in markdown(page)
    )
    assert not warnings(page)


def test_a_week_gains_no_more_than_its_days_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    long = {"trains": 18 * 86400.0, "saves_every": 4 * 3600.0, "outcome": "failed"}
    ended = datetime(2026, 3, 20, 12)
    starts = ended - timedelta(days=18, seconds=STARTUP)
    ingest(tmp_path, attempt("long", 1, starts, **long), datetime(2026, 3, 21, 1))
    told = {
        weight: said(open_page(CHECKPOINTS, days="7", weight=weight, b="15", f="3", i="60"))
        for weight in ("gpu", "wall")
    }

    # six and a half days of 8 GPUs are in the window; of these 6.67 % less 3.23 %
    for weight, gained in (
        ("gpu", "42.9 GPU-hours a week less for the fleet, whose train loop took 1.2k a week"),
        ("wall", "5.4 hours a week less for the fleet, whose train loop took 156 a week"),
    ):
        assert any(gained in text for text in told[weight])
        assert any(
            "ended in these days or ran on after them, each counted whole" in text
            for text in told[weight]
        )


def test_an_attempt_that_still_runs_counts_up_to_the_last_complete_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`long` trains for weeks; `today` began on a day that is not complete."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    midnight, heard = START + timedelta(days=3, hours=18), START + timedelta(days=4, hours=3)
    events = []
    for name, begins in (("long", START), ("today", midnight)):
        trains = (heard - begins).total_seconds() - STARTUP
        events += attempt(name, 1, begins, trains=trains, saves_every=3600.0)[:-1]
    ingest(tmp_path, events, heard + timedelta(hours=1))
    last = START.date() + timedelta(days=3)
    sql = "from modelled_checkpoints('fleet', 'all', $1, $2, 'wall') order by job_id"
    counted = {
        days: [row["job_id"] for row in macro(tmp_path, sql, *days)]
        for days in (
            (START.date(), last),
            (last, last),
            (START.date(), last - timedelta(days=1)),
            (last, last + timedelta(days=1)),
            (last + timedelta(days=1), last + timedelta(days=1)),
        )
    }

    assert [["long"], ["long"], [], ["long", "today"], ["long", "today"]] == list(counted.values())

    sentences = said(open_page(CHECKPOINTS, days="7"))

    assert any(
        "1 of 1 attempt that trained; of attempts that ended in these days or ran on" in text
        for text in sentences
    )
    assert any("nothing that trained was interrupted" in text for text in sentences)


def test_what_ends_after_the_last_complete_day_changes_nothing_of_these_days(
    tmp_path: Path,
) -> None:
    """`long` is told up to a day that is not complete; then that it failed there."""
    fails, last = START + timedelta(days=3, hours=20), START.date() + timedelta(days=3)
    trains = (fails - START).total_seconds() - STARTUP
    *running, ending = attempt("long", 1, START, trains=trains, saves_every=7e3, outcome="failed")
    stopped = [
        event
        for day in range(3)
        for event in attempt(
            f"day-{day}", 1, START + timedelta(days=day), trains=36e3, outcome="failed"
        )
    ]
    told = []
    for name, events in (("runs", running), ("failed", [*running, ending])):
        folder = tmp_path / name
        folder.mkdir()
        ingest(folder, stopped + events, fails + timedelta(hours=1))
        sql = "from window_checkpoints('fleet', 'all', $1, $2, 'wall')"
        told += macro(folder, sql, START.date(), last)

    assert told[0] == told[1]
    assert (4, 3, 3 * 36e3) == tuple(
        told[1][name] for name in ("attempts", "interruptions", "unsaved_seconds")
    )


@pytest.mark.parametrize(
    ("runs_on", "last_word", "is_compared"),
    [
        (False, timedelta(hours=3), True),
        (True, timedelta(hours=3), False),
        # its last word was before a midnight that the clock has passed, and it still runs
        (True, timedelta(hours=-6, minutes=-10), False),
    ],
)
def test_what_is_to_gain_of_what_still_runs_is_compared_with_no_days_before(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runs_on: bool,
    last_word: timedelta,
    is_compared: bool,
) -> None:
    """It trained in the week before as well, of which it is not counted: nothing has grown."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    begins, heard = START, START + timedelta(days=14) + last_word
    events = [
        event
        for team in ("runs-on", "ended")
        for day in range(14)
        for event in attempt(
            f"{team}-{day}",
            1,
            START + timedelta(days=day),
            trains=10 * 3600.0,
            saves_every=7200.0,
            outcome="failed",
            team=team,
        )
    ]
    trains = (heard - begins).total_seconds() - STARTUP
    long = attempt("long", 1, begins, trains=trains, saves_every=7200.0, team="runs-on")
    # what says no more than that the source goes on is of no attempt that trained
    other = {"job_id": "other", "team": "ended"}
    alive = [{**long[0], **other}, {**long[-1], **other}]
    ingest(tmp_path, events + long[:-1] + alive, heard + timedelta(hours=1))
    page = open_page(CHECKPOINTS, days="7", team="runs-on" if runs_on else "ended")
    [gain] = [metric for metric in page.metric if metric.label == "To gain, GPU-hours"]

    assert is_compared == bool(gain.delta)
    told = "attempts that ended or ran on, each whole" + ("" if is_compared else ": not compared")
    assert told in said(page)


def test_the_sliders_start_at_what_was_measured(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7")

    assert (15.0, 10.0) == (page.select_slider[0].value, page.select_slider[2].value)
    assert any(
        "Measured: 15 s a save (p50), 4.28 interruptions a day of train loop, 10 min" in text
        for text in said(page)
    )


def test_a_slider_writes_the_url_and_reset_clears_it(saved: Path) -> None:
    page = open_page(CHECKPOINTS, days="7")
    page.select_slider[2].set_value(45).run()

    assert "45" == page.query_params["i"]
    assert any("At 45 min this loses" in text for text in markdown(page))

    page.button[0].click().run()

    assert "i" not in page.query_params
    assert any("At 10 min this loses" in text for text in markdown(page))


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("b", "9999", "5 min"),
        ("b", "1e12", "5 min"),
        ("i", "33", "34 min"),
    ],
)
def test_a_link_that_no_slider_can_show_gets_the_nearest_step(
    saved: Path, name: str, value: str, shown: str
) -> None:
    page = open_page(CHECKPOINTS, **{"days": "7", name: value})

    assert any(
        f"asks for {name} = ` {value} `. The nearest step, {shown}, is shown" in text
        for text in warnings(page)
    )


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("b", "x", "15 s"), ("b", "-3", "15 s"), ("f", "nan", "4.2"), ("f", "1e400", "4.2")],
)
def test_a_link_that_no_slider_can_read_gets_what_was_measured(
    saved: Path, name: str, value: str, shown: str
) -> None:
    page = open_page(CHECKPOINTS, **{"days": "7", name: value})

    assert any(
        f"` {value} `, which is no number above 0. {shown} is shown, the step nearest to what was "
        "measured." in text
        for text in warnings(page)
    )


def test_without_a_second_save_no_interval_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    ingest(tmp_path, attempt("plain", 1, START, trains=600), START + timedelta(days=1))
    page = open_page(CHECKPOINTS, days="7")

    assert any("No interval is known: no attempt" in text for text in said(page))
    assert any("Not measured: what a save blocks, how often" in text for text in said(page))
    assert any("Not measured here, an example: what a save blocks" in text for text in said(page))
    assert not any("a week for" in text for text in said(page))
    assert any("worth changing: no attempt that ended" in text for text in said(page))


def test_an_example_is_not_said_to_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    ingest(tmp_path, attempt("plain", 1, START, trains=600), START + timedelta(days=1))
    page = open_page(CHECKPOINTS, days="7", b="-1")

    assert any("no number above 0. 15 s is shown, an example." in text for text in warnings(page))


def test_a_view_that_fails_takes_down_its_own_card_only(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    with duckdb.connect(str(queries.published(copy))) as connection:
        connection.execute("drop macro table window_checkpoints")
    page = open_page(CHECKPOINTS, days="7", b="15", f="3", i="60")

    assert any("`window_checkpoints` could not be read" in each.value for each in page.error)
    assert any("At 1 h this loses 6.67 %" in text for text in markdown(page))
    assert 2 == len(page.dataframe[-1].value)


def test_what_an_older_release_published_still_opens(
    ingested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(ingested, tmp_path / "copy"))
    monkeypatch.setenv("ETT_WAREHOUSE", str(copy))
    [sql] = [each.sql for each in model.models("serving") if each.name == "window_checkpoints"]
    with duckdb.connect(str(queries.published(copy))) as connection:
        connection.execute(
            "create or replace macro window_checkpoints(chosen_team, chosen_workload, first_day, "
            "last_day, chosen_weight) as table "
            f"select * exclude (weighed_interruptions, weighed_with_interval) from ({sql})"
        )
    page = open_page(CHECKPOINTS, days="7")

    assert not page.exception
    assert any("7 interruptions of attempts that trained" in text for text in said(page))


def test_a_hostile_fleet_and_an_empty_one_are_no_error(warehouse: Path) -> None:
    for sequence, published in enumerate((serving.hostile(), serving.empty()), start=1):
        serving.publish(warehouse, published, sequence)

        assert not any("could not be read" in each.value for each in open_page(CHECKPOINTS).error)


def test_what_is_not_known_beside_the_model_is_not_nothing() -> None:
    habits = {
        "attempts_with_interval": 1,
        "measured_unsaved_seconds": 7200.0,
        "modelled_unsaved_seconds": None,
        "measured_blocked_seconds": 0.0,
        "modelled_blocked_seconds": None,
    }

    assert [2.0, None, 0.0, None] == saves.beside(habits)["hours"].to_list()
    assert [2.0, 0.0, 0.0, 0.0] == agreement(saves.beside(habits), LIGHT).data[0].x.tolist()
