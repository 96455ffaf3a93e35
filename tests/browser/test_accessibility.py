"""What axe-core finds on every page, light and dark, wide and narrow: nothing serious."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.test_dashboard import open_page
from tests.conftest import AXE

pytestmark = [pytest.mark.browser, pytest.mark.axe, pytest.mark.slow]

PAGES = (
    "/",
    "/lost-time",
    "/start-recover",
    "/checkpoints",
    "/failures?attribution=all",
    "/regressions",
    "/jobs",
    "/job?job=stubborn&attempt=30",
    "/data?job=stubborn&attempt=3",
    "/runbook",
)
WIDTHS = (1280, 420)
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module", params=["light", "dark"])
def reused(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """One page for all: what a browser holds already it need not load again."""
    context = browser.new_context(color_scheme=request.param)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_keeps_nobody_out(fleet_url: str, reused: Page, path: str) -> None:
    found = []
    for place, width in enumerate(WIDTHS):
        reused.set_viewport_size({"width": width, "height": 900})
        if not place:
            open_page(reused, fleet_url + path)
            reused.evaluate(AXE.read_text(encoding="utf-8"))
        found += [f"{width} wide: {each}" for each in violations(reused)]

    assert [] == found


def violations(page: Page) -> list[str]:
    """What is serious or critical: the rule, and the first places it is broken at."""
    result: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']} ({each['impact']}, {len(each['nodes'])} x): "
        + "; ".join(
            f"{node['target'][0]} {node['any'][0]['message'] if node['any'] else ''}"
            for node in each["nodes"][:3]
        )
        for each in result["violations"]
        if each["impact"] in GRAVE
    ]
