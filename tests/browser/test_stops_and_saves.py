"""Failures and Checkpoints in a browser: links, sliders by keyboard, rows that open a job."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import listen
from tests.browser.test_dashboard import parameters, turn_to

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_slider_moves_by_keyboard_and_the_link_follows(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/checkpoints?b=15&f=3&i=60")
    main = kept.get_by_test_id("stMain")
    expect(main).to_contain_text("At 1 h this loses 6.67 %")
    interval = kept.get_by_role("slider").nth(2)
    interval.focus()
    kept.keyboard.press("ArrowRight")
    expect(kept).to_have_url(re.compile(r"i=65"))
    expect(main).to_contain_text("At 1 h 5 min this loses")

    assert {"b=15", "f=3", "i=65"} == parameters(kept)


def test_reset_goes_back_to_what_was_measured(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/checkpoints?i=60")
    kept.get_by_role("button", name="Reset to measured").click()
    expect(kept).to_have_url(re.compile(r"/checkpoints$"))

    expect(kept.get_by_test_id("stMain")).to_contain_text("At 30 min this loses")


def test_counting_all_is_in_the_link(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/failures")
    kept.get_by_test_id("stMain").get_by_role("radio", name="all", exact=True).click()

    expect(kept).to_have_url(re.compile(r"attribution=all"))
    expect(kept.get_by_test_id("stMain")).not_to_contain_text("Counted below")


def test_a_row_of_the_evidence_opens_its_attempt(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/failures?team=ranking")
    table = kept.get_by_test_id("stDataFrame").last
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    kept.mouse.click(box["x"] + 18, box["y"] + 52)  # a canvas: the box of the first row

    expect(kept).to_have_url(re.compile(r"/job\?.*job=.*attempt=\d+|/job\?attempt=\d+&job="))
    expect(kept.get_by_role("heading", level=1)).to_have_text("Job")


def test_a_click_on_a_cause_shows_its_evidence(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/failures?attribution=all")
    card = kept.get_by_test_id("stMain").locator(".js-plotly-plot").nth(1)
    card.scroll_into_view_if_needed()
    bar = card.locator(".bars .point path").first.bounding_box()
    assert bar is not None
    # the layer that listens lies above the bar
    kept.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)

    expect(kept).to_have_url(re.compile(r"cause=\w+(%2F|/)\w+"))


def test_a_hostile_fleet_is_text_on_both_pages(hostile_url: str, kept: Page) -> None:
    heard = listen(kept)
    kept.on("dialog", lambda dialog: heard.errors.append(f"dialog {dialog.message}"))
    for path in ("/failures?attribution=all", "/checkpoints"):
        turn_to(kept, hostile_url + path)
        main = kept.get_by_test_id("stMain")

        assert 0 == main.locator("img[src^='http'], script, a[href*='//evil']").count()
    assert [] == heard.errors
    assert [] == heard.foreign
