"""Numbers as a reader sees them: those of the pages, read from the screen, are those of the
published views; the same figure is the same on every page and on `/metrics`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

import queries
from app.monitoring.follower import Pace
from app.warehouse import connect
from tests.browser.conftest import ROOT, dashboard
from tests.browser.test_dashboard import go, open_page
from tests.monitoring import conftest as monitoring

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAST_DAY = date(2026, 3, 31)
FLEET = "--teams 3 --days 60 --jobs-per-day 10"
SCOPES = {"fleet, 28 days": ("fleet", 28), "ranking, 7 days": ("ranking", 7)}
PAGES = ("/", "/lost-time", "/start-recover", "/checkpoints", "/failures", "/jobs")
SECONDS = {"d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0, "ms": 1e-3}

_OF = "from window_of($team, 'all', $first, $last)"
_LOST = "from window_losses($team, 'all', $first, $last)"
_ENDS = "from window_ends($team, 'all', $first, $last, 'infra') where day is null"
_HABITS = "from window_checkpoints($team, 'all', $first, $last, 'gpu')"
_BUDGET = (
    "select 1 - lost_gpu_seconds / (0.1 * (gpu_seconds - uninstrumented_gpu_seconds)) "
    "from window_of($team, 'all', $last::date - 27, $last)"
)
KPIS = {
    "/": {
        "ETT": f"select ett_gpu_ratio {_OF}",
        "Lost GPU-hours": f"select lost_gpu_seconds / 3600 {_OF}",
        "Loss budget left": _BUDGET,
        "Time to start": f"select tts_p50_seconds {_OF}",
        "Time to recover": f"select ttr_p50_seconds {_OF}",
        "Preemption ratio": f"select preemption_ratio {_OF}",
    },
    "/lost-time": {
        "Lost GPU-hours": f"select lost_gpu_seconds / 3600 {_LOST}",
        "In start-up": f"select start_up_gpu_ratio {_LOST}",
        "In recovery": f"select recovery_gpu_ratio {_LOST}",
        "In the train loop": f"select wasted_gpu_ratio {_LOST}",
        "In shutdown": f"select shutdown_gpu_ratio {_LOST}",
        "Unaccounted": f"select unaccounted_gpu_ratio {_LOST}",
    },
    "/start-recover": {
        "Start p50": f"select tts_p50_seconds {_OF}",
        "Start p90": f"select tts_p90_seconds {_OF}",
        "Recover p50": f"select ttr_p50_seconds {_OF}",
        "Recover p90": f"select ttr_p90_seconds {_OF}",
        "Start + recovery": f"select (start_up_gpu_seconds + recovery_gpu_seconds) / 3600 {_LOST}",
        "Never trained": "select never_trained "
        "from window_starts($team, 'all', $first, $last) where day is null",
    },
    "/checkpoints": {
        "Unsaved, GPU-hours": f"select unsaved_gpu_seconds / 3600 {_OF}",
        "Blocked, GPU-hours": f"select checkpoint_save_gpu_seconds / 3600 {_OF}",
        "Save time, p50": f"select checkpoint_save_p50_seconds {_OF}",
        "Interruptions a job-day": f"select interruptions_per_job_day {_HABITS}",
        "To gain, GPU-hours": f"select gain_seconds / 3600 {_HABITS}",
    },
    "/failures": {
        "Per 1,000 GPU-days": f"select infra_interruptions * 86.4e6 / gpu_seconds {_OF}",
        "Time between them": f"select wall_seconds / infra_interruptions {_OF}",
        "Preemption ratio": f"select preemption_ratio {_OF}",
        "Infra share": f"select infra_interruptions / interruptions {_OF}",
        "Uncategorised": f"select uncategorised_ratio {_ENDS}",
    },
}
# the table of jobs of each page, by the heads of its columns
TABLES = {
    "/lost-time": """
        select
            job_id as job,
            lost_gpu_seconds / 3600 as "lost GPU-hours",
            largest_area as "largest cause",
            largest_gpu_seconds / 3600 as "GPU-hours of it"
        from window_job_losses($team, 'all', $first, $last, 'all')
        order by lost_gpu_seconds desc, job_id
    """,
    "/start-recover": """
        select
            job_id as job,
            greatest(tts_seconds, ttr_seconds) / 60 as minutes,
            attempt,
            team,
            gpus as "GPUs"
        from attempts
        where
            is_counted
            and first_batch_day between $first and $last
            and $team in ('fleet', team)
            and greatest(tts_seconds, ttr_seconds) is not null
        order by minutes desc, job_id, attempt
    """,
    "/checkpoints": """
        select job_id as job, gain_seconds / 3600 as "GPU-hours to gain"
        from checkpoint_gains($team, 'all', $first, $last, 'gpu')
        order by gain_seconds desc, job_id
    """,
    "/failures": """
        select
            job_id as job,
            lost_gpu_seconds / 3600 as "lost GPU-hours",
            failure_domain || '/' || failure_category as cause
        from attempts
        where
            is_counted
            and is_interruption
            and attribution = 'infra'
            and ended_day between $first and $last
            and $team in ('fleet', team)
        order by lost_gpu_seconds desc nulls last, job_id, attempt
    """,
    "/jobs": """
        select
            job_id as job,
            team,
            lost_gpu_seconds / 3600 as "lost GPU-hours",
            ett_ratio * 100 as "ETT",
            gpus as "GPUs"
        from jobs
        where last_ended_at >= $first and $team in ('fleet', team)
        order by lost_gpu_seconds desc nulls last, job_id
    """,
}
SAME = (
    (("/", "Lost GPU-hours"), ("/lost-time", "Lost GPU-hours")),
    (("/", "Time to start"), ("/start-recover", "Start p50")),
    (("/", "Time to recover"), ("/start-recover", "Recover p50")),
    (("/", "Preemption ratio"), ("/failures", "Preemption ratio")),
)
Table = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What one page says: its scope sentence, its KPIs by label, its table of jobs by column."""

    scope: str
    kpis: Mapping[str, str]
    table: Table


@dataclass(frozen=True, slots=True)
class Reader:
    """What a reader of one scope has before the eyes, and the views that it must come from."""

    team: str
    days: int
    pages: Mapping[str, Shown]
    gauges: Mapping[str, float]
    views: duckdb.DuckDBPyConnection

    def view(self, sql: str) -> list[dict[str, Any]]:
        first = LAST_DAY - timedelta(days=self.days - 1)
        asked = {"team": self.team, "first": first, "last": LAST_DAY}
        used = {name: value for name, value in asked.items() if f"${name}" in sql}
        return self.views.sql(sql, params=used).pl().to_dicts()

    def gauge(self, family: str, **labels: str) -> float:
        """The sum of the series of this scope with these labels."""
        found = [value for said, value in self._series(family) if labels.items() <= said.items()]

        assert found, f"no series of {family} with {labels}"
        return sum(found)

    def gpu_seconds(self) -> dict[str, float]:
        """Of this scope by area."""
        summed: dict[str, float] = {}
        for said, value in self._series("ett_gpu_seconds"):
            summed[said["area"]] = summed.get(said["area"], 0.0) + value
        return summed

    def _series(self, family: str) -> list[tuple[dict[str, str], float]]:
        """Those of this scope; of the fleet: of every team where it has none of its own."""
        of_window = [
            (said, value)
            for series, value in self.gauges.items()
            if series.startswith(f"{family}{{")
            and (said := dict(re.findall(r'(\w+)="([^"]*)"', series)))["window"] == f"{self.days}d"
        ]
        own = [(said, value) for said, value in of_window if said["team"] == self.team]
        return own if own or self.team != "fleet" else of_window


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three teams over 60 days, as `ett-ingest` publishes them."""
    folder = tmp_path_factory.mktemp("numbers")
    run("sample_data", "--out", folder / "dumps", "--end", LAST_DAY, *FLEET.split())
    as_of = f"{LAST_DAY + timedelta(days=1)}T00:00:00Z"
    dumps = sorted((folder / "dumps").glob("*.jsonl"))
    run("ingest.cli", "--warehouse", folder / "warehouse", "--as-of", as_of, *dumps)
    return folder / "warehouse"


@pytest.fixture(scope="module")
def readers(warehouse: Path, context: BrowserContext) -> Iterator[dict[str, Reader]]:
    with (
        closing(connect(queries.published(warehouse))) as views,
        metrics(warehouse) as gauges,
        dashboard(warehouse) as url,
    ):
        page = context.new_page()
        page.set_viewport_size({"width": 1600, "height": 1200})
        yield {
            name: Reader(team, days, read(page, url, team, days), gauges, views)
            for name, (team, days) in SCOPES.items()
        }
        page.close()


@pytest.fixture(params=SCOPES)
def reader(request: pytest.FixtureRequest, readers: dict[str, Reader]) -> Reader:
    return readers[request.param]


@pytest.mark.parametrize("path", KPIS)
def test_every_kpi_on_the_screen_is_the_figure_of_its_view(reader: Reader, path: str) -> None:
    shown = reader.pages[path].kpis

    assert list(KPIS[path]) == list(shown)
    for label, sql in KPIS[path].items():
        [row] = reader.view(sql)
        assert says(shown[label], next(iter(row.values()))), (label, shown[label], row)


@pytest.mark.parametrize("path", TABLES)
def test_every_cell_on_the_screen_is_a_cell_of_its_view(reader: Reader, path: str) -> None:
    shown = reader.pages[path].table
    height = len(shown["job"])
    rows = reader.view(TABLES[path])[:height]
    columns = [name for name in rows[0] if name in shown]

    assert height >= min(3, len(reader.view(TABLES[path])))
    assert {"job"} < set(columns)
    for name in columns:
        assert [cell(row[name]) for row in rows] == [number_or_text(each) for each in shown[name]]


@pytest.mark.parametrize(("here", "there"), SAME)
def test_a_figure_is_the_same_on_both_pages_that_show_it(
    reader: Reader, here: tuple[str, str], there: tuple[str, str]
) -> None:
    first, second = (reader.pages[path].kpis[label] for path, label in (here, there))

    assert first == second


def test_pages_speak_of_the_same_jobs_attempts_and_gpu_hours(reader: Reader) -> None:
    scopes = {reader.pages[path].scope for path in KPIS}

    assert 1 == len(scopes), scopes


def test_the_screen_and_the_gauges_say_the_same(reader: Reader) -> None:
    gauge, of = reader.gauge, {path: shown.kpis for path, shown in reader.pages.items()}
    seconds = reader.gpu_seconds()
    whole = sum(seconds.values()) - seconds.get("uninstrumented", 0)
    ended = gauge("ett_attempts")

    assert says(of["/"]["ETT"], seconds["effective"] / whole)
    assert says(of["/"]["Lost GPU-hours"], (whole - seconds["effective"]) / 3600)
    assert says(of["/"]["Preemption ratio"], gauge("ett_attempts", outcome="preempted") / ended)
    assert says(of["/checkpoints"]["Unsaved, GPU-hours"], gauge("ett_unsaved_gpu_seconds") / 3600)
    assert says(of["/lost-time"]["Unaccounted"], seconds["unaccounted"] / whole)
    for page, label, family, stat in (
        ("/", "Time to start", "ett_time_to_start_seconds", "p50"),
        ("/start-recover", "Start p90", "ett_time_to_start_seconds", "p90"),
        ("/start-recover", "Recover p50", "ett_time_to_recover_seconds", "p50"),
        ("/start-recover", "Recover p90", "ett_time_to_recover_seconds", "p90"),
        ("/checkpoints", "Save time, p50", "ett_checkpoint_save_seconds", "p50"),
    ):
        assert says(of[page][label], gauge(family, stat=stat)), label


def test_a_text_says_a_number_within_half_of_its_last_digit() -> None:
    assert says("92.4 %", 0.92449)
    assert not says("92.4 %", 0.92451)
    assert says("12.4k", 12_449)
    assert not says("12.4k", 12_451)
    assert says("1 h 29 min", 5369)
    assert not says("1 h 29 min", 5371)
    assert not says("\u2013", 0.0)


def says(text: str, value: float | None) -> bool:
    """Whether a text is this number, to the last digit that it shows."""
    if value is None:
        return text == "\u2013"
    read = number(text)
    return read is not None and abs(value - read[0]) <= read[1] * (1 + 1e-9)


def number(text: str) -> tuple[float, float] | None:
    """The number that a text says, and half of the unit of its last digit."""
    parts = re.findall(r"(-?[\d,]+(?:\.\d+)?)\s*(%|k|M|d|h|min|ms|s)?(?=\s|$)", text)
    if not parts:
        return None
    sign = -1 if text.startswith("-") else 1
    sizes = {**SECONDS, "%": 0.01, "k": 1e3, "M": 1e6, "": 1.0}
    total = sum(float(digits.replace(",", "").lstrip("-")) * sizes[unit] for digits, unit in parts)
    last, unit = parts[-1]
    return sign * total, 0.5 * sizes[unit] * 10.0 ** -len(last.partition(".")[2])


def cell(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9) if isinstance(value, float) else value


def number_or_text(text: str) -> Any:
    """A cell as its value: the table keeps whole numbers and fractions as they came."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", text) else text


def read(page: Page, url: str, team: str, days: int) -> dict[str, Shown]:
    """Every page of one scope, as it stands on a wide screen."""
    shown = {}
    for path in PAGES:
        address = f"{path}?team={team}&days={days}"
        if page.url.startswith(url):
            go(page, address)
        else:
            open_page(page, url + address)
        main = page.get_by_test_id("stMain")
        expect(main.get_by_test_id("stMetric")).to_have_count(
            len(KPIS.get(path, ())), timeout=60_000
        )
        kpis = {
            metric.get_by_test_id("stMetricLabel").inner_text(): metric.get_by_test_id(
                "stMetricValue"
            ).inner_text()
            for metric in main.get_by_test_id("stMetric").all()
        }
        told = re.compile("GPU-hours(?: without [^\u00b7]+)? \u00b7")
        scopes = main.get_by_test_id("stMarkdown").filter(has_text=told)
        scope = scopes.first.inner_text() if kpis else ""
        shown[path] = Shown(scope, kpis, table(main, path) if path in TABLES else {})
    return shown


def table(main: Locator, path: str) -> Table:
    """The columns of its table of jobs, as it tells them to a screen reader: within its canvas."""
    tables = main.get_by_test_id("stDataFrame")
    last = tables.nth(-2) if path == "/failures" else tables.last  # messages come after it there
    last.scroll_into_view_if_needed()
    cells = last.locator("[role=gridcell]")
    expect(cells.first).to_be_attached(timeout=60_000)
    heads = last.locator("[role=columnheader]").all_text_contents()
    said = cells.all_text_contents()
    return {head: said[place :: len(heads)] for place, head in enumerate(heads)}


@contextmanager
def metrics(warehouse: Path) -> Iterator[dict[str, float]]:
    """What the exporter says of this warehouse, by series."""
    running = monitoring.serving(warehouse, Pace(patience=20, interval=600, retry=0))
    samples = next(running).samples()
    try:
        yield {series: float(value) for series, value in samples.items()}
    finally:
        next(running, None)  # its threads would keep the tests from ending


def run(module: str, *arguments: object) -> None:
    line = [sys.executable, "-m", module, *map(str, arguments)]
    subprocess.run(line, cwd=ROOT, capture_output=True, check=True)
