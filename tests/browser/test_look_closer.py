"""Job and Data in a browser: the aligned timeline, lazy spans, the walk of one attempt."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_dashboard import parameters, turn_to

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_aligned_timeline_is_in_the_link(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/job?job=stubborn")
    kept.get_by_text("Start every attempt at zero").click()
    expect(kept).to_have_url(re.compile(r"aligned=true"))

    expect(kept.get_by_test_id("stMain")).to_contain_text("since each attempt's start")


def test_spans_come_when_they_are_asked_for(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/job?job=stubborn&attempt=30")
    before = kept.get_by_test_id("stDataFrame").count()
    kept.get_by_text("Spans of attempt 30, and the dump each came from").click()

    expect(kept.get_by_test_id("stDataFrame")).to_have_count(before + 1)


def test_an_attempt_is_walked_from_its_page(fleet_url: str, kept: Page) -> None:
    turn_to(kept, f"{fleet_url}/job?job=stubborn&attempt=30")
    kept.get_by_role("link", name="Walk this attempt from the dump to the rollup").click()
    expect(kept.get_by_role("heading", level=1)).to_have_text("Data & definitions")
    expect(kept.get_by_test_id("stMain")).to_contain_text("Attempt 30 of stubborn")

    assert {"job=stubborn", "attempt=30"} <= parameters(kept)


@pytest.mark.parametrize(
    ("asked", "name", "found"),
    [
        ("/job?job=stubbor&attempt=3", "stubborn", "/job?job=stubborn"),
        ("/runbook?alert=EttNobody", "EttRegression", "/runbook?alert=EttRegression"),
    ],
)
def test_what_is_found_instead_has_its_own_link(
    fleet_url: str, kept: Page, asked: str, name: str, found: str
) -> None:
    turn_to(kept, f"{fleet_url}{asked}")
    kept.get_by_test_id("stMain").get_by_text(name, exact=True).click()
    expect(kept).to_have_url(f"{fleet_url}{found}")
    expect(kept.get_by_role("heading", name=name, exact=True)).to_be_visible()
    kept.go_back()

    expect(kept).to_have_url(f"{fleet_url}{asked}")
    expect(kept.get_by_test_id("stAlert").last).to_contain_text("There is no")
