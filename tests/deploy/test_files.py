"""What Prometheus, Alertmanager and Grafana load: as the code writes it, and accepted by them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.monitoring.families import FAMILIES, OF_THE_WATCHER
from app.palette import AREA_ORDER, DARK
from deploy import rules
from deploy.__main__ import files
from deploy.dashboard import queries
from deploy.thresholds import Thresholds, UnusableSettings, read_thresholds

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana/provisioning/dashboards/ett/fleet-ett.json"


@pytest.mark.parametrize("name", sorted(files(Thresholds())))
def test_a_committed_file_is_what_the_code_writes(name: str) -> None:
    assert files(Thresholds())[name] == (DEPLOY / name).read_text(encoding="utf-8"), "make deploy"


@pytest.mark.prometheus
def test_the_alerts_fire_and_end_when_they_should(promtool: str, tmp_path: Path) -> None:
    for file in (DEPLOY / "prometheus/ett.rules.yml", Path(__file__).parent / "ett.rules.test.yml"):
        shutil.copy(file, tmp_path)
    told = run(promtool, "test", "rules", str(tmp_path / "ett.rules.test.yml"))

    assert (0, "") == (told.returncode, told.stderr)


@pytest.mark.prometheus
def test_promtool_accepts_rules_and_settings(promtool: str) -> None:
    checked = run(promtool, "check", "config", str(DEPLOY / "prometheus/prometheus.yml"))

    assert (0, "") == (checked.returncode, checked.stderr)


@pytest.mark.prometheus
def test_amtool_accepts_the_settings() -> None:
    amtool = shutil.which("amtool")
    if amtool is None:
        pytest.skip("no amtool: as root, apt-get install prometheus-alertmanager")
    checked = run(amtool, "check-config", str(DEPLOY / "alertmanager/alertmanager.yml"))

    assert 0 == checked.returncode, checked.stdout


def test_every_alert_has_a_runbook_of_the_four_parts_and_every_runbook_an_alert() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in runbooks()}
    parts = ("**Meaning.**", "**Impact.**", "## Diagnosis", "## Mitigation")

    assert {alert.name for alert in rules.alerts(Thresholds())} == set(pages)
    assert [] == [
        (name, part) for name, page in pages.items() for part in parts if part not in page
    ]


def test_stale_data_silences_every_alert_on_numbers_and_not_itself() -> None:
    told = (DEPLOY / "alertmanager/alertmanager.yml").read_text(encoding="utf-8")
    silenced = set(re.findall(r"Ett\w+", re.search(r"alertname=~.*", told)[0]))  # type: ignore[index]
    alerts = {alert.name for alert in rules.alerts(Thresholds())}

    assert {
        "EttDataStale", "EttExporterDown", "EttExporterReadFailing", "EttWatchStalled",
    } == alerts - silenced  # fmt: skip


def test_an_area_has_its_colour_of_the_app_in_grafana() -> None:
    shown = {
        (override["matcher"]["options"], one["value"]["fixedColor"])
        for panel in panels()
        for override in panel.get("fieldConfig", {}).get("overrides", [])
        for one in override["properties"]
        if one["id"] == "color"
    }

    assert {(area, DARK.area(area)) for area in AREA_ORDER} <= shown


def test_every_panel_says_what_it_shows_and_what_it_shows_without_data() -> None:
    told = [panel for panel in panels() if panel["type"] not in ("row", "text", "alertlist")]

    assert 17 == len(told)
    assert [] == [p["title"] for p in told if not p["description"]]
    assert [] == [p["title"] for p in told if p["fieldConfig"]["defaults"]["noValue"] != "no data"]
    assert [] == [p["title"] for p in told if not p["fieldConfig"]["defaults"]["links"]]


def test_panels_fill_rows_of_24_columns_and_do_not_overlap() -> None:
    taken = [
        (x, y)
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(taken) == len(set(taken))
    assert {(x, y) for x in range(24) for y in range(37)} == set(taken)


def test_only_families_of_the_exporter_are_asked_for() -> None:
    names = {family.name for family in (*FAMILIES, *OF_THE_WATCHER)}
    asked = queries(DASHBOARD.read_text(encoding="utf-8"))
    asked += [expression for expression, _ in rules.recorded().values()]
    asked += [alert.expression for alert in rules.alerts(Thresholds())]
    recorded = {name.partition("#")[0] for name in rules.recorded()}
    used = {name for one in asked for name in re.findall(r"(?<![\w:])[\w:]*ett_[\w:]+", one)}

    assert used <= names | recorded


def test_thresholds_come_from_the_settings_and_reach_the_rules(tmp_path: Path) -> None:
    settings = tmp_path / "ett.toml"
    settings.write_text(
        '[alerts]\nunsaved_ratio = 0.07\ndashboard_url = "https://ett.example/"\n', encoding="utf-8"
    )
    told = files(read_thresholds(settings))["prometheus/ett.rules.yml"]

    assert '{window="7d"} > 0.07' in told
    assert "https://ett.example/checkpoints?team=" in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[alerts]\nunsaved = 1", "alerts.unsaved is no setting"),
        ("[alerts]\nunsaved_ratio = true", "alerts.unsaved_ratio must be a number above 0"),
        ('[alerts]\ndashboard_url = "ett"', "alerts.dashboard_url must be an address"),
        ("alerts = 3", "alerts must be a table"),
        ("[alerts", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    settings = tmp_path / "ett.toml"
    settings.write_text(text, encoding="utf-8")

    with pytest.raises(UnusableSettings, match=why):
        read_thresholds(settings)


def panels() -> list[dict[str, Any]]:
    top = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return top + [panel for row in top for panel in row.get("panels", [])]


def runbooks() -> list[Path]:
    return sorted((ROOT / "docs/runbooks").glob("*.md"))


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
