"""Overview: the change of ETT, the teams, and what got worse."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app import kpis, parts, selects
from app.warehouse import connect
from queries import published
from tests.app import serving
from tests.app.opening import LOST, START, markdown, open_page, said, warnings

FIRST, LAST = date(2026, 2, 4), date(2026, 3, 3)
BEFORE = date(2026, 1, 7), date(2026, 2, 3)
SLOWER = {
    "team": "feed",
    "metric": "tts_seconds",
    "started_on": date(2026, 3, 2),
    "state": "open",
    "severity": "ticket",
    "verdict": "slower",
    "observed": 520.0,
    "expected": 370.0,
    "change_ratio": 0.4054,
    "lost_gpu_seconds_per_day": 310 * 3600.0,
}


def rows(folder: Path, sql: str, *parameters: object) -> list[dict[str, Any]]:
    cursor = connect(published(folder)).cursor()
    found: list[dict[str, Any]] = cursor.sql(sql, params=list(parameters)).pl().to_dicts()
    return found


def with_regressions(folder: Path, *found: dict[str, Any], price: Any = None) -> None:
    whole = serving.fleet(days=30)
    serving.publish(
        folder,
        serving.Warehouse(
            attempts=whole.attempts, targets=whole.targets, regressions=found, price=price
        ),
    )


@pytest.mark.parametrize("weight", ["gpu", "wall"])
def test_the_bars_add_up_to_the_change_that_is_printed(fleet: Path, weight: str) -> None:
    page = open_page(weight=weight)
    ratio = "ett_gpu_ratio" if weight == "gpu" else "ett_ratio"
    now, before = (
        rows(fleet, f"select {ratio} as ett from window_of('fleet', 'all', ?, ?)", *days)[0]["ett"]
        for days in ((FIRST, LAST), BEFORE)
    )
    moves = rows(
        fleet,
        "select sum(moved_ratio) as whole from window_moves('fleet', 'all', ?, ?, ?, ?, ?)",
        weight,
        FIRST,
        LAST,
        *BEFORE,
    )

    assert now - before == pytest.approx(moves[0]["whole"], abs=1e-12)
    assert any(f"the change of ETT, {(now - before) * 100:+.2f} pp" in text for text in said(page))


def test_each_team_is_drawn_against_its_own_target(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aims: list[float | None] = []

    def drawn(own: object, whole: object, target: float | None, *_: object, **__: object) -> str:
        aims.append(target)
        return "<br>"

    monkeypatch.setattr("app.sparkline.small_team", drawn)
    open_page()

    assert {0.8, 0.9} == set(aims)


def test_it_says_where_a_day_of_a_team_is_below_the_axis(warehouse: Path) -> None:
    feed, ads = {"effective": 900.0, "hang": 100.0}, {"effective": 90.0, "hang": 10.0}
    days = [datetime(2026, 3, day, 9) for day in (1, 2, 3)]
    attempts = [serving.Attempt("feed", each.day, each, feed, team="feed") for each in days]
    attempts += [serving.Attempt("ads", each.day, each, ads, team="ads") for each in days]
    attempts[-2] = replace(attempts[-2], areas={"effective": 10.0, "hang": 90.0})
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))

    assert "Days below 48.0 % are drawn at the lower edge." in said(open_page())


def test_the_loss_budget_is_what_the_target_leaves(fleet: Path) -> None:
    [window] = rows(fleet, "from window_of('fleet', 'all', ?, ?)", FIRST, LAST)
    left = 1 - window["lost_gpu_seconds"] / (
        0.1 * (window["gpu_seconds"] - window["uninstrumented_gpu_seconds"])
    )

    assert f"{left * 100:.0f} %" == open_page().metric[2].value


def test_a_budget_says_which_days_it_is_compared_with_where_others_are_chosen(fleet: Path) -> None:
    month, week, alone = (
        [each for each in said(open_page(**chosen)) if each.startswith("of 28 days")]
        for chosen in ({}, {"days": "7"}, {"days": "7", "vs": "none"})
    )

    assert [True] == [each.endswith("; compared with the 28 days before") for each in week]
    assert [each.removesuffix("; compared with the 28 days before") for each in week] == month
    assert month == alone


def test_the_rate_of_the_budget_is_of_the_days_that_there_are(warehouse: Path) -> None:
    areas = {"effective": 98 * 60.0, "hang": 2 * 60.0}
    attempts = [
        serving.Attempt(f"job-{ago}", 1, datetime(2026, 3, 3, 9) - timedelta(days=ago), areas)
        for ago in range(10)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))

    # of 10 % a fifth was lost in ten days: the rest lasts four times as long
    assert any("40.0 days at this rate" in text for text in said(open_page()))


def test_a_month_that_is_known_has_its_budget_though_the_chosen_week_is_not(
    warehouse: Path,
) -> None:
    told, mute = (
        serving.Attempt(name, 1, datetime(2026, 3, 3, 9) - timedelta(days=ago), areas)
        for name, ago, areas in (
            ("told", 9, {"effective": 92 * 3600.0, "hang": 8 * 3600.0}),
            ("mute", 1, {"uninstrumented": 600.0}),
        )
    )
    serving.publish(warehouse, serving.Warehouse(attempts=[told, mute]))
    page = open_page(days="7")

    # of 8 GPUs 80 GPU-hours may be lost, and 64 were
    assert "20 %" == page.metric[2].value
    assert any("days: 16.0 GPU-hours" in text for text in said(page))


def test_a_target_that_leaves_nothing_to_lose_is_a_target(warehouse: Path) -> None:
    attempt = serving.Attempt("j", 1, datetime(2026, 3, 3, 9), {"effective": 60.0, "hang": 6.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[attempt], targets={"fleet": 1.0}))
    sentences = said(open_page())

    assert "target 100 %: it leaves nothing to lose" in sentences
    assert "no target is set" not in sentences


def test_a_team_that_did_not_run_before_has_nothing_to_compare_with(warehouse: Path) -> None:
    old, new = (
        serving.Attempt(team, 1, at, {"effective": 600.0, "scheduling": 60.0}, team=team)
        for team, at in (("old", datetime(2026, 1, 3, 9)), ("new", datetime(2026, 3, 3, 9)))
    )
    serving.publish(warehouse, serving.Warehouse(attempts=[old, new]))

    assert any(
        "nothing to compare with: no ETT is known of 18 Feb to 24 Feb." in text
        for text in said(open_page(team="new", days="7"))
    )


def test_time_that_was_uninstrumented_has_no_shares_to_compare_with(warehouse: Path) -> None:
    at = datetime(2026, 3, 3, 9)
    attempts = [
        serving.Attempt("mute", 1, at - timedelta(days=days), {"uninstrumented": 600.0})
        for days in (7, 40)
    ]
    told = serving.Attempt("told", 1, at, {"effective": 600.0, "scheduling": 60.0})
    serving.publish(warehouse, serving.Warehouse(attempts=[*attempts, told]))
    areas, earlier = (
        connect(published(warehouse)).cursor().sql(selects.AREAS, params=[*scope, "gpu"]).pl()
        for scope in (
            ("fleet", "all", LAST - timedelta(days=6), LAST),
            ("fleet", "all", LAST - timedelta(days=13), LAST - timedelta(days=7)),
        )
    )

    for shares in (kpis.shares(areas, earlier), kpis.shares(earlier, areas)):
        assert {None} == set(shares["difference_ratio"])


def test_uninstrumented_time_is_said_to_be_outside_ett_and_to_have_no_share(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 3, 3, 9)
    attempts = [
        serving.Attempt(f"{job}-{days}", 1, at - timedelta(days=days), {area: 7200.0})
        for job, area in (("mute", "uninstrumented"), ("told", "effective"))
        for days in (0, 7, 30)
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    told: dict[str, Any] = {}
    monkeypatch.setattr(parts, "chart", lambda *_, **said: told.setdefault(said["stem"][:20], said))
    open_page(days="7")
    cascade = told["ett_overview_cascade"]
    [row] = cascade["table"].filter(area="uninstrumented").to_dicts()

    assert "uninstrumented 16.0 (outside ETT)" in cascade["alt"]
    assert {"share_ratio": None, "previous_share_ratio": None, "difference_ratio": None} == {
        name: value for name, value in row.items() if name.endswith("_ratio")
    }


def test_a_team_is_shown_with_its_target(fleet: Path) -> None:
    page = open_page(team="feed")

    assert any("target 80 %" in text for text in said(page))
    assert "Show the whole fleet" in [button.label for button in page.button]


def test_teams_are_sorted_by_what_they_lost(fleet: Path) -> None:
    shown = [button.label for button in open_page().button if button.label.startswith("**")]
    expected = rows(
        fleet,
        "select team from window_teams('all', ?, ?) where team <> 'fleet' "
        "order by lost_gpu_seconds desc",
        FIRST,
        LAST,
    )

    assert [f"**` {row['team']} `**" for row in expected] == shown


def test_more_teams_than_twelve_are_shown_when_asked_for(warehouse: Path) -> None:
    teams = [f"team-{number:02d}" for number in range(15)]
    attempts = [
        serving.Attempt(team, 1, datetime(2026, 3, 3, 9), {"effective": 60.0}, team=team)
        for team in teams
    ]
    serving.publish(warehouse, serving.Warehouse(attempts=attempts))
    page = open_page()

    assert 12 == sum(button.label.startswith("**") for button in page.button)

    page.toggle[0].set_value(True).run()

    assert 15 == sum(button.label.startswith("**") for button in page.button)


def test_a_loss_stands_beside_what_it_is_of_now_and_before(fleet: Path) -> None:
    [note] = [text for text in said(open_page()) if re.match(r"of .* GPU-hours, .* before$", text)]

    assert note in said(open_page(LOST))


def test_an_open_regression_is_a_sentence_with_its_verdict(warehouse: Path) -> None:
    with_regressions(warehouse, SLOWER)
    [told] = [text for text in markdown(open_page()) if "Time to start" in text]

    assert ":orange[:material/warning: ticket]" in told
    assert "6 min 10 s \u2192 8 min 40 s since Mon 2 Mar" in told
    assert told.endswith("Slower")


@pytest.mark.parametrize("workload", ["all", "production"])
def test_what_got_worse_is_said_to_be_of_all_workloads_whichever_is_chosen(
    warehouse: Path, workload: str
) -> None:
    with_regressions(warehouse, SLOWER)
    told = said(open_page(workload=workload))

    assert any("Time to start" in text for text in told)
    assert (workload != "all") == ("Told of all workloads together, whichever is chosen." in told)
    assert (workload != "all") == any(
        "Triangles: since when something got worse, in all workloads together." in text
        for text in told
    )


def test_what_got_worse_for_all_teams_is_told_to_each_and_leads_to_that_of_all(
    warehouse: Path,
) -> None:
    with_regressions(warehouse, {**SLOWER, "team": "fleet", "verdict": "fleet_wide"})
    page = open_page(team="ads")

    assert not any("Nothing got worse" in text for text in said(page))
    assert any("Time to start of all teams" in text for text in markdown(page))
    [button] = [each for each in page.button if each.label.startswith("Look at ` Time")]
    button.click().run()
    assert "fleet" == page.query_params.get("team", "fleet")


def test_a_regression_leads_to_its_evidence(warehouse: Path) -> None:
    with_regressions(warehouse, SLOWER)
    page = open_page()
    [button] = [each for each in page.button if each.label.startswith("Look at ` Time")]
    button.click().run()

    assert page.title[0].value.startswith("Regressions")
    assert {"metric": "tts_seconds", "day": "2026-03-02", "team": "feed"} == {
        name: page.query_params[name] for name in ("metric", "day", "team")
    }


@pytest.mark.parametrize("state", ["closed", "held_back", "incident"])
def test_what_is_not_open_is_not_listed_but_was_looked_for(warehouse: Path, state: str) -> None:
    with_regressions(warehouse, {**SLOWER, "state": state})
    page = open_page()

    assert any("Nothing got worse" in text for text in said(page))
    assert not [text for text in markdown(page) if "Time to start" in text]


def test_of_a_team_that_fell_silent_it_is_told_up_to_when_nothing_got_worse(
    warehouse: Path,
) -> None:
    whole = serving.fleet(days=30)
    ran = [
        each
        for each in whole.attempts
        if each.team != "feed" or each.started_at < datetime(2026, 2, 20)
    ]
    closed = [{**SLOWER, "team": team, "state": "closed"} for team in ("feed", "ads")]
    serving.publish(warehouse, serving.Warehouse(attempts=ran, regressions=closed))
    [[silent], [busy]] = [
        [text for text in said(open_page(team=team)) if "Nothing got worse" in text]
        for team in ("feed", "ads")
    ]

    assert silent.endswith("told from chance, up to Thu 19 Feb: since then nothing ran.")
    assert busy.endswith("told from chance.")


def test_only_the_five_that_cost_most_are_listed(warehouse: Path) -> None:
    many = [
        {**SLOWER, "metric": f"measure-{number}", "lost_gpu_seconds_per_day": 3600.0 * number}
        for number in range(8)
    ]
    with_regressions(warehouse, *many)
    page = open_page()
    told = [text for text in markdown(page) if "measure" in text]

    assert ["7", "6", "5", "4", "3"] == [re.findall(r"measure\\-(\d)", text)[0] for text in told]
    assert "5 of 8, the dearest first. The page Regressions lists all of them." in said(page)


def test_of_regressions_of_unknown_cost_the_newest_is_first_as_on_their_page(
    warehouse: Path,
) -> None:
    unknown = [
        {**SLOWER, "metric": f"measure-{day}", "started_on": date(2026, 3, day)}
        | {"lost_gpu_seconds_per_day": None}
        for day in (1, 3, 2)
    ]
    with_regressions(warehouse, *unknown)
    page = open_page()
    told = [text for text in markdown(page) if "measure" in text]

    assert not any("the dearest first" in each for each in said(page))
    assert ["3", "2", "1"] == [re.findall(r"measure\\-(\d)", text)[0] for text in told]


def test_a_price_is_said_of_losses_and_regressions(warehouse: Path) -> None:
    with_regressions(warehouse, SLOWER, price=(2.0, "EUR"))
    page = open_page()

    assert any("EUR 620 a day" in text for text in markdown(page))
    assert any(re.search(r"^EUR \S+ \u00b7 of .* GPU-hours$", text) for text in said(page))
    # a price is of GPU-hours
    assert any(re.search(r"^of .* hours$", text) for text in said(open_page(weight="wall")))


def test_hostile_regressions_are_text(warehouse: Path) -> None:
    evil = {"team": serving.HOSTILE, "metric": serving.FORMULA, "verdict": serving.HOSTILE}
    with_regressions(warehouse, {**SLOWER, **evil})
    [told] = [text for text in markdown(open_page()) if "onerror" in text]

    assert r"\<img" in told
    assert r"\!\[x\]" in told


def test_without_a_comparison_nothing_is_said_to_have_moved(fleet: Path) -> None:
    page = open_page(vs="none")

    assert any("choose previous under Compared with" in text for text in said(page))
    assert {""} == {metric.delta for metric in page.metric}
    assert not warnings(page)[1:]


def test_a_marked_day_is_on_the_chart_of_the_measure_too(warehouse: Path) -> None:
    with_regressions(warehouse, SLOWER)
    specs = [chart.proto.spec for chart in open_page(START).get("plotly_chart")]

    assert 1 == sum("8 min 40 s" in spec for spec in specs)
