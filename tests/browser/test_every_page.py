"""Every page, light and dark: opens without a fault, keeps nobody out, and fits a phone.

Each is loaded once for all of it, in the light: loading is what takes the time. In the dark one is
gone to from the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Heard, listen
from tests.browser.test_dashboard import drawn, go, open_page
from tests.conftest import AXE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

# no page after another of the same heading: who goes on must see that it is the next one
PAGES = {
    "/": "Overview",
    "/lost-time": "Lost time",
    "/start-recover": "Start & recover",
    "/checkpoints": "Checkpoints",
    "/failures": "Failures",
    "/regressions": "Regressions",
    "/jobs": "Jobs",
    "/job?job=stubborn&attempt=30": "Job",
    "/data": "Data & definitions",
    "/runbook": "Runbook",
    "/?team=feed&days=7&weight=wall": "Overview",
    "/lost-time?team=feed&area=unsaved&vs=none": "Lost time",
    "/start-recover?team=ads&days=7&wait=recovery": "Start & recover",
    "/checkpoints?b=15&f=3&i=60&weight=wall": "Checkpoints",
    "/failures?attribution=all": "Failures",
    "/job?job=stubborn&aligned=true": "Job",
    "/data?job=stubborn&attempt=3": "Data & definitions",
    "/failures?attribution=all&team=feed&cause=scheduler/preempted": "Failures",
}
# the same cards as another of them, with other numbers
ALIKE = {path for path in PAGES if "weight=wall" in path or "team=" in path} | {
    "/data",
    "/failures",
}
WRAPS = "each => getComputedStyle(each).whiteSpace"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"
WIDE, NARROW = 1280, 420
GRAVE = ("serious", "critical")
# axe calls it moderate; whoever goes from heading to heading by key takes the gap for a lost part
ORDER = "heading-order"
_judged: set[str] = set()


@pytest.fixture(scope="module", params=["light", "dark"])
def reused(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    page.emulate_media(color_scheme=request.param)
    yield page
    page.close()


@pytest.fixture(scope="module")
def heard(reused: Page) -> Heard:
    return listen(reused)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_opens_without_a_fault_for_everybody_on_a_desk_and_on_a_phone(
    fleet_url: str, reused: Page, heard: Heard, path: str
) -> None:
    found = []
    heard.errors.clear()
    heard.foreign.clear()
    reused.set_viewport_size({"width": WIDE, "height": 900})
    is_dark = reused.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    if is_dark and reused.url.startswith(fleet_url):
        go(reused, path)
    else:
        open_page(reused, fleet_url + path)

    expect(reused.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    drawn(reused)
    assert f"{PAGES[path]} \u00b7 ETT" == reused.title()
    is_judged = AXE.exists() and path not in ALIKE
    if is_judged:
        reused.evaluate(AXE.read_text(encoding="utf-8"))
        found += violations(reused)

    # innerText would leave out what is only heard
    offers = reused.locator('[class*="st-key-foot"] button').evaluate_all(
        "all => all.map(each => each.textContent)"
    )
    assert len(offers) == len(set(offers)), "of two buttons that sound alike nobody hears which"

    reused.set_viewport_size({"width": NARROW, "height": 900})
    drawn(reused)
    if is_judged:
        found += violations(reused)
        _judged.add(path)

    assert [] == found
    assert [] == heard.errors
    assert [] == heard.foreign
    main = reused.get_by_test_id("stMain")
    assert main.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.axe
def test_axe_has_judged_every_page() -> None:
    if not _judged:
        pytest.skip("no page was opened before")

    assert PAGES.keys() - ALIKE == _judged


def violations(page: Page) -> list[str]:
    """What is serious or critical, or out of order: the rule, and the first places it is broken
    at.
    """
    result: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    width = (page.viewport_size or {})["width"]
    return [
        f"{width} wide: {each['id']} ({each['impact']}, {len(each['nodes'])} x): "
        + "; ".join(
            f"{node['target'][0]} {node['any'][0]['message'] if node['any'] else ''}"
            for node in each["nodes"][:3]
        )
        for each in result["violations"]
        if each["impact"] in GRAVE or each["id"] == ORDER
    ]


def test_a_closed_sidebar_holds_no_stop_of_the_keyboard(fleet_url: str, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    open_page(page, fleet_url)
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_have_attribute("data-collapsed", "true")
    for _ in range(4):
        page.keyboard.press("Tab")
        assert not page.evaluate("!!document.activeElement.closest('[data-testid=stSidebar]')")

    page.get_by_role("button", name="Expand sidebar").press("Enter")
    expect(sidebar.get_by_role("link", name="Overview")).to_be_visible()


def test_what_has_the_focus_is_outlined_and_what_is_counted_is_not_cut(
    fleet_url: str, reused: Page
) -> None:
    reused.set_viewport_size({"width": WIDE, "height": 900})  # with the sidebar open
    open_page(reused, f"{fleet_url}/job?job=stubborn")
    outlines = []
    for colours in ("none", "active"):
        reused.emulate_media(forced_colors=colours)
        reused.get_by_role("link", name="Jobs", exact=True).focus()
        for key in ("Tab", "Shift+Tab"):  # by key, else there is nothing to show
            reused.keyboard.press(key)
            outlines.append(reused.evaluate(OUTLINE))
    camera = reused.locator(".modebar-btn").first
    camera.focus()
    outlines.append(camera.evaluate("each => getComputedStyle(each).outlineStyle"))
    swatch = reused.locator("[style*='width:12px']").first

    assert ["solid"] * 5 == outlines
    # a number goes on in the next line where a narrow screen has no room for it
    [lines] = {
        each.evaluate(WRAPS) for each in reused.get_by_test_id("stMetric").locator("p").all()
    }
    assert "normal" == lines
    assert "none" == swatch.evaluate("each => getComputedStyle(each).forcedColorAdjust")
    reused.emulate_media(forced_colors="none")
