"""From the fleet to a job and back, what a reader takes along, and what a page is on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Download, Locator, Page, expect

from tests.app import serving
from tests.browser.conftest import Heard, dashboard, listen
from tests.browser.test_dashboard import drawn, open_page, parameters, turn_to

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_each_step_to_a_job_is_a_click_and_each_click_a_step_back(
    fleet_url: str, kept: Page
) -> None:
    heard = listen(kept)
    kept.set_viewport_size({"width": 1280, "height": 2600})
    turn_to(kept, f"{fleet_url}/?days=7")
    steps = [kept.url]

    kept.get_by_test_id("stMain").get_by_role("button", name="ranking", exact=True).click()
    expect(kept).to_have_url(re.compile(r"team=ranking"))
    settle(kept)
    steps.append(kept.url)

    click_through(
        kept, lambda: bar(kept, "overview_cascade", "unsaved"), r"/lost-time\?.*area=unsaved"
    )
    settle(kept)
    steps.append(kept.url)

    first_row(kept)
    expect(kept).to_have_url(re.compile(r"/job\?job=ranking"))
    settle(kept)

    assert {"team=ranking", "days=7"} <= set(steps[2].partition("?")[2].split("&"))
    for url in reversed(steps):
        kept.go_back()
        expect(kept).to_have_url(url)
        settle(kept)
    expect(scope(kept)).to_contain_text("Fleet \u00b7 all workloads \u00b7 25 Feb to 3 Mar")
    assert [] == heard.errors


def test_a_cell_of_teams_by_area_is_a_filter(fleet_url: str, kept: Page) -> None:
    kept.set_viewport_size({"width": 1280, "height": 2600})
    turn_to(kept, f"{fleet_url}/lost-time")
    cell = kept.locator('[class*="st-key-scrolls"] .scatterlayer .point').last
    click_through(kept, lambda: cell, r"area=")
    settle(kept)

    assert {"team", "area"} == {part.partition("=")[0] for part in parameters(kept)}
    expect(kept.get_by_test_id("stMain")).to_contain_text("Looking at unsaved")


def test_filters_of_a_link_follow_to_other_pages_and_back(fleet_url: str, page: Page) -> None:
    open_page(page, f"{fleet_url}/lost-time?team=feed&weight=wall")
    for name in ("Overview", "Start & recover", "Jobs"):
        page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        settle(page)

    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Start & recover")
    settle(page)

    assert {"team=feed", "weight=wall"} == parameters(page)
    expect(scope(page)).to_contain_text("feed \u00b7 all workloads")


def test_a_filter_is_undone_by_going_back_past_it(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/?team=feed")
    kept.get_by_test_id("stMain").get_by_role("button", name="Show the whole fleet").click()
    expect(kept).to_have_url(re.compile(r"/$"))
    settle(kept)
    kept.go_back()
    expect(kept).to_have_url(re.compile(r"team=feed"))
    settle(kept)

    expect(scope(kept)).to_contain_text("feed")


def test_a_csv_has_the_scope_and_the_period_before(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/lost-time?area=unsaved&team=feed")
    with kept.expect_download() as found:
        kept.get_by_role("button", name="CSV").first.click()
    lines = text(found.value).splitlines()

    assert "ett_lost-time_unsaved-by-day_feed_20260204_20260303.csv" == (
        found.value.suggested_filename
    )
    assert lines[0].startswith("# feed \u00b7 all workloads \u00b7 4 Feb to 3 Mar \u00b7 ")
    assert "day,is_complete,gpu_seconds,share_ratio,previous_share_ratio" == lines[1]
    assert 29 <= len(lines) - 2


def test_a_table_offers_no_csv_but_that_in_which_no_name_is_a_formula(
    hostile_url: str, kept: Page
) -> None:
    turn_to(kept, f"{hostile_url}/jobs")
    kept.get_by_test_id("stDataFrame").hover()
    expect(kept.get_by_role("button", name="Fullscreen")).to_be_visible()
    [offer] = kept.get_by_role("button", name="CSV").all()
    with kept.expect_download() as found:
        offer.click()

    assert f"'{serving.FORMULA}" in text(found.value).replace('""', '"')


def test_a_csv_reads_the_period_before_when_it_is_taken(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/lost-time?days=7")
    card = kept.locator('[class*="st-key-foot-ett_lost-time_teams-by-area"]')
    with kept.expect_download() as found:
        card.get_by_role("button", name="CSV").click()
    head, *rows = text(found.value).splitlines()[1:]

    assert "team,area,gpu_seconds,share_ratio,previous_share_ratio" == head
    assert any(row.split(",")[4] for row in rows)


def test_a_figure_is_a_png_of_its_own(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/start-recover")
    figure = kept.get_by_test_id("stPlotlyChart").first
    figure.hover()
    with kept.expect_download() as found:
        figure.locator(".modebar-btn").click(force=True)

    assert "ett_start-recover_tts-by-day_fleet_20260204_20260303.png" == (
        found.value.suggested_filename
    )
    assert found.value.path().read_bytes().startswith(b"\x89PNG")


def test_how_a_figure_is_computed_is_told_with_the_view(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/lost-time")
    kept.get_by_role("button", name="How it is computed").nth(1).click()
    told = kept.get_by_test_id("stPopoverBody")

    expect(told).to_contain_text("Share of an area.")
    expect(told).to_contain_text("The view window_team_areas that it reads")


@pytest.mark.parametrize("width", [1280, 1920])
def test_overview_is_two_pages_of_paper_at_most(fleet_url: str, kept: Page, width: int) -> None:
    kept.set_viewport_size({"width": width, "height": 900})
    turn_to(kept, fleet_url)
    settle(kept)

    assert 2 >= len(re.findall(rb"/Type\s*/Page\b", kept.pdf(prefer_css_page_size=True)))


def test_what_got_worse_leads_to_its_evidence(tmp_path: Path, page: Page, heard: Heard) -> None:
    whole = serving.fleet(teams=("ranking", "feed"), days=1)
    worse = {
        "team": "feed",
        "metric": "unsaved_ratio",
        "started_on": serving.LAST_DAY,
        "state": "open",
        "severity": "page",
        "verdict": "failures",
        "observed": 0.09,
        "expected": 0.03,
        "change_ratio": 2.0,
        "lost_gpu_seconds_per_day": 7200.0,
    }
    serving.publish(tmp_path, serving.Warehouse(attempts=whole.attempts, regressions=[worse]))
    with dashboard(tmp_path) as url:
        open_page(page, url)
        expect(page.get_by_test_id("stMain")).to_contain_text(
            "Unsaved share of feed: 3.0 % \u2192 9.0 % since Tue 3 Mar "
            "(+200 %, 2.0 GPU-hours a day)"
        )
        page.get_by_role("button", name=re.compile("^Look at Unsaved share")).click()
        expect(page).to_have_url(re.compile(r"/regressions\?"))
        settle(page)

        assert {"team=feed", "metric=unsaved_ratio", "day=2026-03-03"} == parameters(page)
    assert [] == heard.errors


def test_a_row_opens_the_job_that_it_shows_though_a_newer_publish_has_another_there(
    tmp_path: Path, page: Page
) -> None:
    start = datetime(2026, 3, 3, 8)
    shown = serving.Attempt("shown", 1, start, {"effective": 3000.0, "unsaved": 60.0})
    newer = serving.Attempt("newer", 1, start, {"effective": 3000.0, "unsaved": 600.0})
    serving.publish(tmp_path, serving.Warehouse(attempts=[shown]))
    with dashboard(tmp_path) as url:
        open_page(page, f"{url}/jobs")
        serving.publish(tmp_path, serving.Warehouse(attempts=[newer, shown]), sequence=2)
        first_row(page)

        expect(page).to_have_url(re.compile(r"/job\?job=shown$"))


def settle(page: Page) -> None:
    """Wait until what was clicked has begun, its script has run and every chart is drawn."""
    page.wait_for_timeout(300)
    drawn(page)


def click_through(page: Page, mark: Callable[[], Locator], address: str) -> None:
    """Click a mark until it leads on: one whose figure is drawn anew just then hears nothing, and
    may stand at another place afterwards.
    """
    for _ in range(5):
        mark().click(force=True)
        try:
            expect(page).to_have_url(re.compile(address), timeout=4_000)
        except AssertionError:
            settle(page)
        else:
            return
    expect(page).to_have_url(re.compile(address))


def scope(page: Page) -> Locator:
    """The sentence that says what the numbers are of."""
    told = re.compile("GPU-hours(?: without [^\u00b7]+)? \u00b7")
    return page.get_by_test_id("stMarkdown").filter(has_text=told).first


def bar(page: Page, stem: str, row: str) -> Locator:
    """The bar of a row in a figure of horizontal bars."""
    figure = page.locator(f'[class*="st-key-figure-ett_{stem}"]')
    [label] = [each for each in figure.locator(".ytick").all() if each.text_content() == row]
    level = middle(label)
    return min(figure.locator(".barlayer .point").all(), key=lambda each: abs(middle(each) - level))


def middle(mark: Locator) -> float:
    """Its height on the page."""
    box = mark.bounding_box()
    assert box is not None
    return box["y"] + box["height"] / 2


def first_row(page: Page) -> None:
    """Select the first row of the last table, which is drawn on a canvas."""
    table = page.get_by_test_id("stDataFrame").last.bounding_box()
    assert table is not None
    page.mouse.click(table["x"] + 18, table["y"] + 52)


def text(download: Download) -> str:
    return download.path().read_text(encoding="utf-8")
