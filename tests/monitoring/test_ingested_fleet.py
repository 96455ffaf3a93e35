"""The exporter on what an ingest really publishes: every view answers, also while ingests go on."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

import queries
from app.monitoring.families import FAMILIES
from app.monitoring.follower import Pace
from app.warehouse import connect
from tests.monitoring.conftest import Exporter

ROOT = Path(__file__).resolve().parents[2]
LAST_DAY = date(2026, 3, 31)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dumps")
    fleet = "--teams 3 --days 32 --jobs-per-day 20 --broken 0.01"
    run("sample_data", "--out", str(folder), "--end", str(LAST_DAY), *fleet.split())
    return sorted(folder.glob("*.jsonl"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, dumps: list[Path]) -> Path:
    """All of the fleet, ingested once; read it only."""
    warehouse = tmp_path_factory.mktemp("whole")
    ingest(warehouse, dumps)
    return warehouse


@pytest.fixture
def ingested(whole: Path, warehouse: Path) -> Path:
    shutil.copytree(whole, warehouse, dirs_exist_ok=True)
    return warehouse


def test_every_family_is_there_and_every_view_is_read(ingested: Path, exporter: Exporter) -> None:
    families = {family.name: family for family in parse(exporter.get().text())}

    # a fleet of a month has no regression that is open
    told = {family.name for family in FAMILIES if "_regression_" not in family.name}

    assert told == families.keys()
    assert {1.0} == {sample.value for sample in families["ett_exporter_read_success"].samples}


@pytest.mark.prometheus
def test_promtool_has_no_objection_to_a_real_fleet(
    ingested: Path, exporter: Exporter, promtool: str
) -> None:
    checked = subprocess.run(
        [promtool, "check", "metrics"],
        input=exporter.get().body,
        capture_output=True,
        check=False,
    )

    assert (0, b"", b"") == (checked.returncode, checked.stdout, checked.stderr)


@pytest.mark.parametrize("days", [1, 7, 28])
def test_a_gauge_says_what_the_macro_says(ingested: Path, exporter: Exporter, days: int) -> None:
    shown = exporter.samples()
    # the newest day is whole only once its sources speak of a later one
    with closing(connect(queries.published(ingested))) as connection:
        ((last_day,),) = connection.execute("select last_complete_day from publication").fetchall()
        said = connection.execute(
            """
            select asked.team, ett_gpu_ratio, attempts_ended, tts_p90_seconds, unsaved_gpu_seconds
            from (select distinct team from team_day where team <> 'fleet') as asked
            cross join lateral (from window_of(asked.team, 'all', $first::date, $last::date)) as w
            """,
            {"first": last_day - timedelta(days=days - 1), "last": last_day},
        ).fetchall()

    assert said
    for team, ratio, ended, tts, unsaved in said:
        window = f'team="{team}",window="{days}d"'
        outcomes = [v for s, v in shown.items() if "ett_attempts{" in s and window in s]
        assert ratio == number(shown, f"ett_effective_ratio{{{window}}}")
        assert tts == number(shown, f'ett_time_to_start_seconds{{stat="p90",{window}}}')
        assert unsaved == number(shown, f"ett_unsaved_gpu_seconds{{{window}}}")
        assert ended == sum(map(float, outcomes))


def test_scrapes_during_ingests_are_without_error(
    dumps: list[Path], warehouse: Path, serve: Callable[[Pace], Exporter]
) -> None:
    exporter = serve(Pace(interval=0.02))
    ingest(warehouse, dumps[:4])
    states = {exporter.get().text()}
    done = threading.Event()

    def scrape() -> None:
        while not done.wait(0.3):  # without a rest it keeps the ingests from their processor
            states.add(exporter.get().text())

    readers = [threading.Thread(target=scrape, daemon=True) for _ in range(2)]
    for reader in readers:
        reader.start()
    for first in range(4, 16, 4):
        known = len(states)
        ingest(warehouse, dumps[first : first + 4])
        patience = time.monotonic() + 60
        # what was published is read before more is
        while len(states) == known and time.monotonic() < patience:
            time.sleep(0.05)
    done.set()
    for reader in readers:
        reader.join()

    assert 4 <= len(states)
    assert [] == [state for state in states if failures(state)]


def failures(state: str) -> list[str]:
    outcomes = [line for line in state.splitlines() if line.startswith("ett_exporter_read_success")]
    return [line for line in outcomes if not line.endswith(" 1.0")] if outcomes else ["nothing"]


def number(shown: dict[str, str], series: str) -> float | None:
    return float(shown[series]) if series in shown else None


def ingest(warehouse: Path, dumps: list[Path]) -> None:
    run("ingest.cli", "--warehouse", str(warehouse), *map(str, dumps))


def run(module: str, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, check=True
    )
