"""Regressions in a browser: links, tabs, rows that open evidence, a narrow screen."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.app import found, serving
from tests.browser.conftest import Heard, dashboard, listen
from tests.browser.test_dashboard import drawn, open_page, parameters, turn_to

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVIDENCE = "/regressions?team=feed&metric=trainer_init_seconds"
# what each alone says: some have the same heading
PAGES = {
    "/regressions": "Got worse, is proven, and goes on.",
    "/regressions?tab=Closed": "Over: what was open",
    EVIDENCE: "The days around it",
    "/runbook": "Runbook",
}


@pytest.fixture(scope="module")
def told_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browsed-regressions")
    found.add(serving.publish(folder, serving.fleet()), found.whole())
    with dashboard(folder) as url:
        yield url


@pytest.fixture(scope="module")
def told_hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browsed-hostile-regressions")
    found.add(serving.publish(folder, serving.hostile()), found.hostile())
    with dashboard(folder) as url:
        yield url


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_opens_without_an_error_or_a_request_elsewhere(
    told_url: str, kept: Page, path: str, scheme: str
) -> None:
    heard = listen(kept)
    if scheme == "light":
        open_page(kept, told_url + path)
    else:  # each is loaded once: the rest is drawn alike
        kept.emulate_media(color_scheme="dark")
        turn_to(kept, told_url + path)
    expect(kept.get_by_test_id("stMain")).to_contain_text(PAGES[path])
    drawn(kept)

    assert [] == heard.errors
    assert [] == heard.foreign
    expect(kept.get_by_role("heading", level=1)).to_have_text(
        "Runbook" if path == "/runbook" else "Regressions (2)"
    )


def test_the_list_is_cards_on_a_phone_and_a_table_on_a_desk(told_url: str, kept: Page) -> None:
    turn_to(kept, f"{told_url}/regressions")
    table = kept.get_by_test_id("stDataFrame")
    card = kept.get_by_test_id("stMain").get_by_role("button", name=re.compile("trainer_init of"))
    expect(table).to_be_visible()
    expect(card).to_be_hidden()
    kept.set_viewport_size({"width": 420, "height": 900})

    expect(table).to_be_hidden()
    expect(card).to_be_visible()


def test_a_tab_is_in_the_link(told_url: str, kept: Page) -> None:
    turn_to(kept, f"{told_url}/regressions")
    kept.get_by_role("tab", name="Held back").click()
    expect(kept.get_by_test_id("stMain")).to_contain_text("Near misses")

    assert {"tab=Held%20back"} == {each.replace("+", "%20") for each in parameters(kept)}


def test_a_row_opens_its_evidence_and_there_is_a_way_back(told_url: str, kept: Page) -> None:
    turn_to(kept, f"{told_url}/regressions?team=feed")
    box = kept.get_by_test_id("stDataFrame").bounding_box()
    assert box is not None
    kept.mouse.click(box["x"] + 18, box["y"] + 52)  # a canvas: the box of the first row
    expect(kept.get_by_test_id("stMain")).to_contain_text("The days around it")

    expect(kept).to_have_url(re.compile(f"day={found.SINCE.isoformat()}"))

    assert {
        "team=feed",
        "metric=trainer_init_seconds",
        f"day={found.SINCE.isoformat()}",
    } == parameters(kept)
    kept.get_by_role("button", name="All regressions").click()
    expect(kept.get_by_test_id("stMain")).to_contain_text("Got worse, is proven, and goes on.")
    expect(kept).to_have_url(re.compile(r"/regressions\?team=feed$"))


def test_a_link_to_evidence_keeps_its_address_from_another_page(told_url: str, page: Page) -> None:
    open_page(page, f"{told_url}/?team=ads")
    open_page(page, told_url + EVIDENCE)
    page.reload()
    expect(page.get_by_test_id("stMain")).to_contain_text("The days around it")

    assert {"team=feed", "metric=trainer_init_seconds"} == parameters(page)


def test_the_link_to_copy_is_that_of_this_evidence(told_url: str, kept: Page) -> None:
    turn_to(kept, told_url + EVIDENCE)
    kept.get_by_role("button", name="Copy link").click()

    expect(kept.get_by_test_id("stCode")).to_contain_text(
        f"{told_url}{EVIDENCE}&day={found.SINCE.isoformat()}"
    )


def test_a_job_that_contributes_opens(told_url: str, kept: Page) -> None:
    turn_to(kept, told_url + EVIDENCE)
    table = kept.get_by_test_id("stDataFrame").filter(visible=True).first
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    kept.mouse.click(box["x"] + 18, box["y"] + 52)

    expect(kept).to_have_url(re.compile(r"/job\?.*job=stubborn"))


def test_hostile_names_are_text(told_hostile_url: str, page: Page, heard: Heard) -> None:
    page.on("dialog", lambda dialog: heard.errors.append(f"dialog {dialog.message}"))
    open_page(page, f"{told_hostile_url}/regressions")
    page.set_viewport_size({"width": 420, "height": 900})
    page.get_by_test_id("stMain").get_by_role("button", name=re.compile("Failures")).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("The days around it")
    main = page.get_by_test_id("stMain")

    assert 0 == main.locator("img[src^='http'], script, a[href*='//evil']").count()
    turn_to(page, told_hostile_url)
    expect(main).to_contain_text("onerror=alert(1)")
    assert 0 == main.locator("img[src^='http'], script, a[href*='//evil']").count()
    assert [] == heard.errors
    assert [] == heard.foreign


def test_on_a_narrow_screen_a_button_names_all_that_it_leads_to(
    told_hostile_url: str, kept: Page
) -> None:
    kept.set_viewport_size({"width": 390, "height": 900})
    turn_to(kept, told_hostile_url)
    labels = kept.locator('[data-testid="stBaseButton-tertiary"] .stMarkdownEllipsis')
    labels.first.wait_for()

    assert {0} == {each.evaluate("e => e.scrollWidth - e.clientWidth") for each in labels.all()}
