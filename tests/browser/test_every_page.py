"""Every page, light and dark: opens without a fault, keeps nobody out, and fits a phone.

Colours and widths have nothing to do with each other, so each page is looked at in the light on a
desk and in the dark on a phone, and a few pages in the other two ways too. Each is loaded once, in
the light: loading is what takes the time. To one of the same cards as another, and to every one in
the dark, it is gone from the page before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Heard, listen
from tests.browser.test_dashboard import drawn, open_page, turn_to
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
# in the light on a phone and in the dark on a desk as well: the most cards, and the most of a chart
EVERYWHERE = {"/", "/job?job=stubborn&attempt=30"}
LOOKS = [("light", path) for path in PAGES] + [
    ("dark", path) for path in PAGES if path not in ALIKE
]
IS_DARK = "matchMedia('(prefers-color-scheme: dark)').matches"
WRAPS = "each => getComputedStyle(each).whiteSpace"
OUTLINE = "getComputedStyle(document.activeElement).outlineStyle"
WIDE, NARROW = 1280, 420
GRAVE = ("serious", "critical")
# axe calls it moderate; whoever goes from heading to heading by key takes the gap for a lost part
ORDER = "heading-order"
_judged: set[tuple[str, int, str]] = set()


@pytest.fixture(scope="module", params=["light", "dark"])
def reused(request: pytest.FixtureRequest, context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    page.emulate_media(color_scheme=request.param)
    yield page
    page.close()


@pytest.fixture(scope="module")
def heard(reused: Page) -> Heard:
    return listen(reused)


@pytest.mark.parametrize(("reused", "path"), LOOKS, indirect=["reused"])
def test_a_page_opens_without_a_fault_for_everybody_on_a_desk_and_on_a_phone(
    fleet_url: str, reused: Page, heard: Heard, path: str
) -> None:
    found, overflows = [], []
    heard.errors.clear()
    heard.foreign.clear()
    scheme = "dark" if reused.evaluate(IS_DARK) else "light"
    # from the width that it has to the other one: to begin with the same is one more drawing
    first, *others = sorted(widths(scheme, path), key=lambda each: each != width_of(reused))
    if scheme == "dark" or path in ALIKE:
        reused.set_viewport_size({"width": first, "height": 900})
        turn_to(reused, fleet_url + path)
    else:
        reused.goto("about:blank")  # else the page before is drawn once more, at this width
        reused.set_viewport_size({"width": first, "height": 900})
        open_page(reused, fleet_url + path)

    expect(reused.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    drawn(reused)
    assert f"{PAGES[path]} \u00b7 ETT" == reused.title()

    # innerText would leave out what is only heard
    offers = reused.locator('[class*="st-key-foot"] button').evaluate_all(
        "all => all.map(each => each.textContent)"
    )
    assert len(offers) == len(set(offers)), "of two buttons that sound alike nobody hears which"

    for width in (first, *others):
        if width != first:
            reused.set_viewport_size({"width": width, "height": 900})
            drawn(reused)
        if AXE.exists() and path not in ALIKE:
            found += violations(reused)
            _judged.add((scheme, width, path))
        overflows.append(is_too_wide(reused))

    assert [] == found
    assert [] == heard.errors
    assert [] == heard.foreign
    assert not any(overflows)


@pytest.mark.axe
def test_axe_has_judged_every_page() -> None:
    if not _judged:
        pytest.skip("no page was opened before")

    assert {
        (scheme, width, path)
        for scheme, path in LOOKS
        if path not in ALIKE
        for width in widths(scheme, path)
    } == _judged


@pytest.mark.axe
def test_axe_sees_words_that_are_too_faint(reused: Page, fleet_url: str) -> None:
    """Else that it finds none would say nothing."""
    reused.set_viewport_size({"width": WIDE, "height": 900})
    turn_to(reused, fleet_url + "/data")
    drawn(reused)
    reused.get_by_role("heading", level=1).evaluate(
        "each => each.insertAdjacentHTML('afterend', "
        "'<p id=faint style=\"color:#bbb;background:#fff\">Words</p>')"
    )
    found = violations(reused)
    reused.locator("#faint").evaluate("each => each.remove()")

    assert 1 == len(found)
    assert "color-contrast (serious, 1 x): #faint" in found[0]


def widths(scheme: str, path: str) -> tuple[int, ...]:
    """Those that a page is looked at in, one after the other."""
    usual, other = (WIDE, NARROW) if scheme == "light" else (NARROW, WIDE)
    return (usual, other) if path in ALIKE | EVERYWHERE else (usual,)


def is_too_wide(page: Page) -> bool:
    main = page.get_by_test_id("stMain")
    return bool(main.evaluate("each => each.scrollWidth > each.clientWidth"))


def width_of(page: Page) -> int:
    assert page.viewport_size is not None
    return page.viewport_size["width"]


def violations(page: Page) -> list[str]:
    """What is serious or critical, or out of order: the rule, and the first places it is broken
    at.
    """
    if not page.evaluate("'axe' in window"):  # else it is still there from the page before
        page.evaluate(AXE.read_text(encoding="utf-8"))
    asked = {"resultTypes": ["violations"]}
    result: dict[str, Any] = page.evaluate("asked => axe.run(document, asked)", asked)
    return [
        f"{width_of(page)} wide: {each['id']} ({each['impact']}, {len(each['nodes'])} x): "
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
    turn_to(reused, f"{fleet_url}/job?job=stubborn")
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
