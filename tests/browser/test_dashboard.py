"""The pages in a browser: what a reader meets, and that nothing leaves the machine."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.app import serving
from tests.browser.conftest import Heard, dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = {
    "/": "Overview",
    "/?team=feed&days=7&weight=wall": "Overview",
    "/lost-time": "Lost time",
    "/lost-time?team=feed&area=unsaved&vs=none": "Lost time",
    "/start-recover": "Start & recover",
    "/start-recover?team=ads&days=7&wait=recovery": "Start & recover",
    "/jobs": "Jobs",
    "/job?job=stubborn&attempt=30": "Job",
    "/data": "Data & definitions",
}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_an_error_or_a_request_elsewhere(
    fleet_url: str, page: Page, heard: Heard, path: str, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    open_page(page, fleet_url + path)

    assert [] == heard.errors
    assert [] == heard.foreign
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    assert f"{PAGES[path]} \u00b7 ETT" == page.title()


def test_only_pages_that_exist_are_in_the_navigation(fleet_url: str, page: Page) -> None:
    open_page(page, fleet_url)
    links = page.get_by_test_id("stSidebarNavLink").all_inner_texts()

    assert [
        "Overview",
        "Lost time",
        "Start & recover",
        "Checkpoints",
        "Failures",
        "Regressions",
        "Jobs",
        "Data & definitions",
    ] == [link.split("\n")[-1] for link in links]


def test_a_link_shows_what_its_sender_saw(fleet_url: str, page: Page) -> None:
    open_page(page, f"{fleet_url}/?team=feed&days=7&workload=production")

    expect(page.get_by_test_id("stMain")).to_contain_text("feed \u00b7 production workloads")
    assert {"team=feed", "days=7", "workload=production"} == parameters(page)


def test_a_choice_goes_into_the_url_and_follows_to_the_next_page(
    fleet_url: str, page: Page
) -> None:
    open_page(page, fleet_url)
    page.get_by_test_id("stSidebar").get_by_role("radio", name="7", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?days=7$"))
    page.get_by_test_id("stMain").get_by_role("button", name="feed", exact=True).click()
    expect(page).to_have_url(re.compile(r"team=feed"))
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Jobs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")

    assert {"team=feed", "days=7"} == parameters(page)


def test_an_unknown_team_is_named_and_the_nearest_is_a_click_away(
    fleet_url: str, page: Page
) -> None:
    open_page(page, f"{fleet_url}/?team=rankin")
    expect(page.get_by_test_id("stAlert").last).to_contain_text("There is no team rankin")
    page.get_by_role("button", name="Show ranking").click()

    expect(page).to_have_url(re.compile(r"team=ranking$"))
    expect(page.get_by_test_id("stMetric").first).to_be_visible()


def test_a_malformed_value_is_said_and_stays_said(fleet_url: str, page: Page) -> None:
    open_page(page, f"{fleet_url}/?days=31")
    page.wait_for_timeout(1000)

    expect(page.get_by_test_id("stMain")).to_contain_text("asks for days = 31")


def test_a_row_of_the_jobs_table_opens_the_job(fleet_url: str, page: Page) -> None:
    open_page(page, f"{fleet_url}/jobs?q=stubborn")
    table = page.get_by_test_id("stDataFrame").bounding_box()
    assert table is not None
    page.mouse.click(table["x"] + 18, table["y"] + 52)  # a canvas: the box of the first row
    expect(page).to_have_url(re.compile(r"/job\?job=stubborn$"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Job")
    expect(page.get_by_role("heading", name="stubborn", exact=True)).to_be_visible()


def test_a_new_publish_is_a_line_to_click(tmp_path: Path, page: Page, heard: Heard) -> None:
    serving.publish(tmp_path, serving.fleet(teams=("ranking",), days=5))
    with dashboard(tmp_path) as url:
        open_page(page, url)
        before = page.get_by_test_id("stMetricValue").first.inner_text()
        serving.publish(tmp_path, serving.fleet(teams=("ranking", "feed"), days=5), sequence=2)
        line = page.get_by_role("button", name=re.compile("Newer data was published"))
        expect(line).to_be_visible(timeout=45_000)
        assert before == page.get_by_test_id("stMetricValue").first.inner_text()
        line.click()
        expect(page.get_by_test_id("stMain").get_by_role("button", name="feed")).to_be_visible()
        expect(line).not_to_be_visible()

    assert [] == heard.foreign


@pytest.mark.parametrize(
    "name", [serving.HOSTILE, serving.FORMULA, "../../etc/passwd", serving.FOREIGN, serving.LONG]
)
@pytest.mark.parametrize(
    "path",
    ["/?team=", "/lost-time?team=", "/start-recover?team=", "/jobs?team=", "/job?job=", "/data?x="],
)
def test_hostile_names_are_shown_as_text(
    hostile_url: str, page: Page, heard: Heard, path: str, name: str
) -> None:
    page.on("dialog", lambda dialog: heard.errors.append(f"dialog {dialog.message}"))
    open_page(page, hostile_url + path + quote(name, safe=""))
    main = page.get_by_test_id("stMain")

    assert [] == heard.errors
    assert [] == heard.foreign
    assert 0 == main.locator("img[src^='http'], script, a[href*='//evil']").count()
    if path == "/job?job=":
        expect(main.get_by_role("heading", level=3).first).to_have_text(name)


@pytest.mark.parametrize("path", ["/", "/lost-time", "/start-recover"])
def test_a_phone_shows_every_card_in_its_width(fleet_url: str, page: Page, path: str) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    open_page(page, fleet_url + path)
    main = page.get_by_test_id("stMain")

    assert main.evaluate("each => each.scrollWidth <= each.clientWidth")


def open_page(page: Page, url: str) -> None:
    """Open it and wait until the script has run and every chart is drawn."""
    page.goto(url)
    page.get_by_role("heading", level=1).wait_for(timeout=30_000)
    expect(page.get_by_test_id("stApp")).to_have_attribute(
        "data-test-script-state", "notRunning", timeout=30_000
    )
    page.wait_for_timeout(700)


def parameters(page: Page) -> set[str]:
    return set(page.url.partition("?")[2].split("&"))
