"""The whole way of an alert on real servers: exporter, Prometheus, rules, Alertmanager."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from deploy.__main__ import files
from deploy.thresholds import Thresholds
from tests.deploy.promql import queries
from tests.monitoring.serving import Attempt, Regression, publish

ROOT = Path(__file__).parents[2]
TODAY = datetime.now(UTC).date()

pytestmark = [pytest.mark.prometheus, pytest.mark.slow]


class Stack:
    """Exporter, Prometheus and Alertmanager on free ports of loopback, with the product's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.exporter, self.prometheus, self.alertmanager = (free_port() for _ in range(3))
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, prometheus: str, alertmanager: str) -> None:
        for name, text in files(Thresholds()).items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._hastened(name, text), encoding="utf-8")
        exporter = str(Path(sys.executable).with_name("ett-exporter"))
        self._run(exporter, "--warehouse", str(self.warehouse), "--port", str(self.exporter))
        self._run(
            alertmanager,
            f"--config.file={self.folder}/alertmanager/alertmanager.yml",
            f"--storage.path={self.folder}/alerts",
            f"--web.listen-address=127.0.0.1:{self.alertmanager}",
            "--cluster.listen-address=",
        )
        self._run(
            prometheus,
            f"--config.file={self.folder}/prometheus/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{self.prometheus}",
        )

    def _hastened(self, name: str, text: str) -> str:
        """Same rules and routes, but half a second where they wait for minutes, and our ports."""
        if not name.endswith(".yml"):
            return text
        told = yaml.safe_load(text)
        for group in told.get("groups", ()):
            for rule in group["rules"]:
                rule.pop("for", None)
                rule.pop("keep_firing_for", None)
        if "scrape_configs" in told:
            told["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
            told["scrape_configs"][0]["static_configs"][0]["targets"] = [
                f"127.0.0.1:{self.exporter}"
            ]
            told["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] = [
                f"127.0.0.1:{self.alertmanager}"
            ]
        if "route" in told:
            told["route"] |= {"group_wait": "500ms", "group_interval": "500ms"}
        return str(yaml.safe_dump(told))

    def _run(self, *command: str) -> None:
        with (self.folder / "log").open("ab") as log:
            self.processes.append(
                subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
            )

    def alerts(self) -> dict[str, dict[str, Any]]:
        """What Alertmanager would send, by name and team: not what is inhibited or over."""
        active = get(f"http://127.0.0.1:{self.alertmanager}/api/v2/alerts?inhibited=false")
        return {
            f"{one['labels']['alertname']} {one['labels'].get('team', '')}".strip(): one
            for one in active or ()
        }

    def query(self, expression: str) -> list[Any]:
        url = f"http://127.0.0.1:{self.prometheus}/api/v1/query?query={quote(expression)}"
        told = get(url)
        return list(told["data"]["result"]) if told else []


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Started once: what they read is each test's own."""
    prometheus, alertmanager = shutil.which("prometheus"), shutil.which("prometheus-alertmanager")
    if prometheus is None or alertmanager is None:
        pytest.skip("no servers: as root, apt-get install prometheus prometheus-alertmanager")
    stack = Stack(tmp_path_factory.mktemp("stack"))
    try:
        stack.start(prometheus, alertmanager)
        yield stack
    finally:
        for process in stack.processes:
            process.terminate()
        for process in stack.processes:
            process.wait(timeout=30)


@pytest.fixture
def stack(servers: Stack) -> Stack:
    """With an open regression, and no other alert."""
    publish_fleet(servers, [Regression("fe&ed", "pt2_compile")])
    until(lambda: {"EttRegression fe&ed"} == set(servers.alerts()), servers)
    return servers


def test_a_regression_reaches_alertmanager_and_is_resolved_by_the_next_publish(
    stack: Stack,
) -> None:
    alert = stack.alerts()["EttRegression fe&ed"]

    assert {
        "alertname": "EttRegression",
        "team": "fe&ed",
        "metric": "pt2_compile",
        "verdict": "slower",
        "severity": "ticket",
    } == alert["labels"]
    assert alert["annotations"]["dashboard_url"] == (
        "http://127.0.0.1:8501/regressions?team=fe%26ed&metric=pt2_compile"
    )

    publish_fleet(stack, [replace(Regression("fe&ed", "pt2_compile"), state="closed")])

    until(lambda: "EttRegression fe&ed" not in stack.alerts(), stack)


def test_stale_data_is_told_and_silences_the_rest(stack: Stack) -> None:
    publish_fleet(stack, [Regression("fe&ed", "pt2_compile")], data_at=date(2026, 3, 29))
    until(lambda: {"EttDataStale"} == set(stack.alerts()), stack)

    assert "page" == stack.alerts()["EttDataStale"]["labels"]["severity"]


def test_every_query_of_the_dashboard_returns_data(stack: Stack) -> None:
    until(lambda: bool(stack.query("ett_regression_active")), stack)
    asked = queries(
        (stack.folder / "grafana/provisioning/dashboards/ett/fleet-ett.json").read_text()
    )
    chosen = [one.replace("${team:regex}", ".+").replace("$window", "1d") for one in asked]

    assert 20 < len(chosen)
    assert [] == [expression for expression in chosen if not stack.query(expression)]


def publish_fleet(
    stack: Stack, regressions: list[Regression], *, data_at: date | None = None
) -> None:
    publish(
        stack.warehouse,
        [
            Attempt("fe&ed", areas={"effective": 9500.0, "shutdown": 100.0}, tts=60.0, ttr=90.0),
            Attempt("ads", areas={"effective": 9500.0, "shutdown": 100.0}, tts=60.0, ttr=90.0),
        ],
        regressions=regressions,
        rejected={("events", "not_json"): 1},
        data_at=data_at or TODAY,
    )


def until(holds: Callable[[], bool], stack: Stack) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError((stack.folder / "log").read_text(encoding="utf-8")[-3000:])


def get(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.loads(answer.read())
    except (OSError, urllib.error.URLError):
        return None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
