"""Where the links of alerts lead: each page shows at once what its alert is about."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from deploy.rules import alerts
from deploy.thresholds import Thresholds
from tests.app.dumps import attempt, ingest
from tests.app.opening import FAILURES, LOST, open_page

TEAM = "feed & co"
STARTED = datetime(2026, 3, 2, 10)


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A preempted attempt of which 100 s of a start-up say nothing."""
    monkeypatch.setenv("ETT_WAREHOUSE", str(tmp_path))
    told = attempt("a", 1, STARTED, trains=3600.0, outcome="preempted", team=TEAM)
    silent = [event for event in told if event.get("phase") != "trainer_init"]
    return ingest(tmp_path, silent, datetime(2026, 3, 4))


def followed(name: str, path: str) -> AppTest:
    """The page behind the `dashboard_url` of this alert of the team."""
    [link] = {alert.link for alert in alerts(Thresholds()) if alert.name == name}
    asked = dict(parse_qsl(urlsplit(link).query))
    return open_page(path, **asked | {"team": TEAM})


def test_an_alert_on_preemptions_leads_to_the_preempted_attempts(warehouse: Path) -> None:
    page = followed("EttPreemptionRatioHigh", FAILURES)
    listed = [each.value for each in page.dataframe if "outcome" in each.value]

    assert ["preempted"] == [outcome for frame in listed for outcome in frame["outcome"]]


def test_an_alert_on_unaccounted_time_leads_to_the_jobs_that_lost_it(warehouse: Path) -> None:
    page = followed("EttUnaccountedTimeHigh", LOST)

    assert "Jobs that lost most to unaccounted" in [each.value for each in page.header]
    assert ["a"] == page.dataframe[-1].value["job_id"].tolist()
