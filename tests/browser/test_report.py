"""The weekly digest in a browser: one file, no network, every figure drawn."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app import report
from tests.app import serving
from tests.browser.conftest import fresh_page, listen

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("digests")
    written = {}
    for name, week, published in (
        ("fleet", "2026-W09", serving.fleet()),
        ("hostile", "2026-W10", serving.hostile()),
    ):
        serving.publish(folder / name, published)
        written[name] = folder / f"{name}.html"
        line = ["--week", week, "--output", str(written[name]), "--warehouse", str(folder / name)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ETT_WAREHOUSE", "")
            assert 0 == copy_context().run(report.main, line)
    return written


@pytest.fixture(scope="module")
def offline(browser: Browser) -> Iterator[Page]:
    with fresh_page(browser) as page:
        page.context.set_offline(True)
        yield page


# the fleet's last: it is looked at on and on
@pytest.mark.parametrize("name", ["hostile", "fleet"])
def test_it_opens_offline_and_draws_every_figure(
    digests: dict[str, Path], offline: Page, name: str
) -> None:
    page, heard = offline, listen(offline)
    page.on("dialog", lambda dialog: heard.errors.append(f"dialog {dialog.message}"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(digests[name].as_uri())
    places = page.locator("[data-figure]")
    for place in range(places.count()):
        expect(places.nth(place).locator(".main-svg").first).to_be_visible()

    assert [] == heard.errors
    assert [digests[name].as_uri()] == [
        url for url in asked if not url.startswith(("data:", "blob:"))
    ]
    assert 0 == page.locator("section img").count()


def test_its_figures_have_a_name_and_its_numbers_a_table(
    digests: dict[str, Path], offline: Page
) -> None:
    page = on(offline, digests["fleet"])

    assert 3 == page.locator("[data-figure][aria-label]").count()
    page.get_by_text("The numbers").first.click()
    expect(page.get_by_role("cell", name="Mon 23 Feb")).to_be_visible()


def test_a_phone_reads_it_in_its_width(digests: dict[str, Path], offline: Page) -> None:
    page = on(offline, digests["fleet"])
    page.set_viewport_size({"width": 420, "height": 900})
    page.reload()
    expect(page.locator(".main-svg").first).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def on(page: Page, digest: Path) -> Page:
    """The page with this digest on it: opened, where another one is."""
    if page.url != digest.as_uri():
        page.goto(digest.as_uri())
    return page
