"""The soak in short: pages that are clicked on while others are published."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import sessions
from tests.app import serving

pytestmark = pytest.mark.slow


def test_a_publish_in_the_middle_of_clicks_breaks_no_page(tmp_path: Path) -> None:
    serving.publish(tmp_path, serving.fleet(teams=sessions.TEAMS[1:], days=20))
    pace = sessions.Pace(sessions=3, seconds=4, clicks=20, click=0.2, publish=1.0, line=1.0)
    seen = sessions.soak(tmp_path, pace)

    assert [] == seen.failures
    assert 2 < seen.publishes
    assert seen.clicks
    assert {"fleet", "ads"} <= seen.scopes <= set(sessions.TEAMS)
    assert all(0 < mebibytes for mebibytes in seen.memory)


def test_a_view_that_fails_is_a_failure(tmp_path: Path) -> None:
    path = serving.publish(tmp_path, serving.fleet(days=3))
    path.write_bytes(b"no database")
    pace = sessions.Pace(sessions=1, seconds=0.5, clicks=1, click=0.5, line=0.5)
    seen = sessions.soak(tmp_path, pace)

    assert any("could not be read" in failure for failure in seen.failures)
