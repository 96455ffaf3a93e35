"""The pages in a browser: what a reader meets, and that nothing leaves the machine."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import streamlit
from playwright.sync_api import Page, expect

from tests.app import serving
from tests.browser.conftest import Heard, dashboard, listen

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = (serving.HOSTILE, serving.FORMULA, "../../etc/passwd", serving.FOREIGN, serving.LONG)
FOREIGN = "img[src^='http'], script, a[href*='//evil']"


def test_a_dashboard_ends_though_a_reader_takes_nothing(tmp_path: Path) -> None:
    serving.publish(tmp_path, serving.Warehouse(attempts=[]))
    static = Path(streamlit.__file__).with_name("static")
    largest = max(static.rglob("*.js"), key=lambda each: each.stat().st_size)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with dashboard(tmp_path) as url:  # which waits until it has ended
            reader.connect(("127.0.0.1", urlsplit(url).port))
            asked = f"GET /{largest.relative_to(static)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            reader.sendall(asked.encode())
            assert b"HTTP/1.1 200 OK" == reader.recv(15)


def test_only_pages_that_exist_are_in_the_navigation(fleet_url: str, kept: Page) -> None:
    turn_to(kept, fleet_url)
    links = kept.get_by_test_id("stSidebarNavLink").all_inner_texts()

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
    fleet_url: str, kept: Page
) -> None:
    turn_to(kept, fleet_url)
    kept.get_by_test_id("stSidebar").get_by_role("radio", name="7", exact=True).click()
    expect(kept).to_have_url(re.compile(r"\?days=7$"))
    kept.get_by_test_id("stMain").get_by_role("button", name="feed", exact=True).click()
    expect(kept).to_have_url(re.compile(r"team=feed"))
    expect(kept.get_by_role("status")).to_contain_text("feed")
    kept.get_by_test_id("stSidebarNavLink").filter(has_text="Jobs").click()
    expect(kept.get_by_role("heading", level=1)).to_have_text("Jobs")

    assert {"team=feed", "days=7"} == parameters(kept)


def test_an_unknown_team_is_named_and_the_nearest_is_a_click_away(
    fleet_url: str, kept: Page
) -> None:
    turn_to(kept, f"{fleet_url}/?team=rankin")
    expect(kept.get_by_test_id("stAlert").last).to_contain_text("There is no team rankin")
    kept.get_by_role("button", name="Show ranking").click()

    expect(kept).to_have_url(re.compile(r"team=ranking$"))
    expect(kept.get_by_test_id("stMetric").first).to_be_visible()


def test_a_malformed_value_is_said_and_stays_said(fleet_url: str, page: Page) -> None:
    open_page(page, f"{fleet_url}/?days=31")
    page.wait_for_timeout(1000)

    expect(page.get_by_test_id("stMain")).to_contain_text("asks for days = 31")


def test_a_row_of_the_jobs_table_opens_the_job_by_key_and_tells_it(
    fleet_url: str, page: Page
) -> None:
    open_page(page, f"{fleet_url}/jobs?q=stubborn")
    full_screen = page.get_by_role("button", name="Fullscreen")
    full_screen.focus()
    page.keyboard.press("Enter")
    close = page.get_by_role("button", name="Close fullscreen")
    close.wait_for()
    page.wait_for_timeout(600)  # what is behind it must not take the focus
    expect(page.get_by_role("heading", level=1)).not_to_be_focused()
    close.press("Enter")
    full_screen.focus()
    page.keyboard.press("Tab")  # into the table, to its first row
    page.keyboard.press("Shift+Space")
    expect(page).to_have_url(re.compile(r"/job\?job=stubborn$"))

    expect(page.get_by_role("heading", level=1)).to_have_text("Job")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("status")).to_contain_text(re.compile("^Job. stubborn"))
    expect(page.get_by_role("heading", name="stubborn", exact=True)).to_be_visible()


def test_a_new_publish_is_a_line_to_click(tmp_path: Path, page: Page, heard: Heard) -> None:
    serving.publish(tmp_path, serving.fleet(teams=("ranking",), days=5))
    page.clock.install()
    with dashboard(tmp_path) as url:
        open_page(page, url)
        before = page.get_by_test_id("stMetricValue").first.inner_text()
        serving.publish(tmp_path, serving.fleet(teams=("ranking", "feed"), days=5), sequence=2)
        line = page.get_by_role("button", name=re.compile("Newer data was published"))
        page.clock.fast_forward("00:21")  # it looks every 20 seconds
        expect(line).to_be_visible()
        page.clock.run_for(1000)
        expect(page.get_by_role("status")).to_contain_text("Newer data was published")
        assert before == page.get_by_test_id("stMetricValue").first.inner_text()
        line.click()
        expect(page.get_by_test_id("stMain").get_by_role("button", name="feed")).to_be_visible()
        expect(line).not_to_be_visible()

    assert [] == heard.foreign


@pytest.mark.parametrize(
    "path", ["/?team=", "/lost-time?team=", "/start-recover?team=", "/jobs?team=", "/job?job="]
)
def test_hostile_names_are_shown_as_text(hostile_url: str, kept: Page, path: str) -> None:
    heard = listen(kept)
    kept.on("dialog", lambda dialog: heard.errors.append(f"dialog {dialog.message}"))
    main = kept.get_by_test_id("stMain")
    for name in NAMES:
        turn_to(kept, hostile_url + path + quote(name, safe=""))

        if "team" in path:
            sidebar = kept.get_by_test_id("stSidebar")
            expect(sidebar.get_by_role("combobox").first).to_have_value(name)
        else:
            expect(main.get_by_role("heading", level=2).first).to_have_text(name)
        assert 0 == main.locator(FOREIGN).count()
    assert [] == heard.errors
    assert [] == heard.foreign


def test_hostile_names_are_text_among_the_definitions(hostile_url: str, kept: Page) -> None:
    heard = listen(kept)
    turn_to(kept, f"{hostile_url}/data?x={quote(serving.HOSTILE, safe='')}")

    assert 0 == kept.get_by_test_id("stMain").locator(FOREIGN).count()
    assert [] == heard.errors
    assert [] == heard.foreign


def open_page(page: Page, url: str) -> None:
    """Open it and wait until the script has run and every chart is drawn."""
    page.goto(url, wait_until="commit")
    page.get_by_role("heading", level=1).wait_for(timeout=30_000)
    drawn(page)


def turn_to(page: Page, url: str) -> None:
    """Go on to it, where this page is of the same server; else open it."""
    server = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    if page.url.startswith(server):
        go(page, url.removeprefix(server) or "/")
    else:
        open_page(page, url)


def go(page: Page, address: str) -> None:
    """Go on to another address of an open page as the back button does: nothing is loaded again."""
    page.evaluate(_GO, address)
    page.wait_for_timeout(300)
    drawn(page)


def drawn(page: Page) -> None:
    """Wait until the script has run, every chart is drawn, and nothing has changed for a while."""
    page.wait_for_function(_DRAWN, timeout=30_000, polling=50)


_GO = """address => {
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
}"""
# four looks in a row, 50 ms apart, at a page that is done and has not changed
_DRAWN = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    const app = document.querySelector('[data-testid="stApp"]');
    const charts = [...document.querySelectorAll('[data-testid="stPlotlyChart"]')];
    const isDone = main && app.dataset.testScriptState == "notRunning"
        && !document.querySelector('[data-testid="stSkeleton"]')
        && charts.every(each => each.querySelector(".main-svg"));
    const now = isDone ? `${main.innerHTML.length} ${main.scrollHeight} ${location.href}` : null;
    window.looks = isDone && window.looked === now ? (window.looks ?? 0) + 1 : 0;
    window.looked = now;
    if (window.looks < 4) return false;
    window.looks = 0;
    return true;
}"""


def parameters(page: Page) -> set[str]:
    return set(page.url.partition("?")[2].split("&"))
