"""What Prometheus, Alertmanager and Grafana load: as the code writes it, and accepted by them."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from app.monitoring.families import FAMILIES, OF_THE_WATCHER
from app.monitoring.reading import answers
from app.monitoring.snapshot import snapshot_of
from app.palette import AREA_ORDER, DARK
from app.warehouse import connect
from deploy import rules, services
from deploy.__main__ import files
from deploy.__main__ import main as write_files
from deploy.thresholds import Thresholds, UnusableSettings, read_thresholds
from queries import published
from tests.app.dumps import attempt, ingest
from tests.deploy.promql import queries

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana/provisioning/dashboards/ett/fleet-ett.json"


@pytest.mark.parametrize("name", sorted(files(Thresholds())))
def test_a_committed_file_is_what_the_code_writes(name: str) -> None:
    assert files(Thresholds())[name] == (DEPLOY / name).read_text(encoding="utf-8"), "make deploy"


@pytest.mark.prometheus
def test_the_alerts_fire_and_end_when_they_should(promtool: str, tmp_path: Path) -> None:
    tests = sorted(Path(__file__).parent.glob("*.test.yml"))
    for file in (DEPLOY / "prometheus/ett.rules.yml", *tests):
        shutil.copy(file, tmp_path)
    told = run(promtool, "test", "rules", *(str(tmp_path / test.name) for test in tests))

    assert 2 == len(tests)
    assert (0, "") == (told.returncode, told.stderr)


def test_what_a_rule_reads_is_recorded_before_it_in_its_group() -> None:
    recorded = {name.partition("#")[0] for name in rules.recorded()}
    for group in rules.rule_file(Thresholds())["groups"]:
        before: set[str] = set()
        for rule in group["rules"]:
            reads = set(re.findall(r"\w+(?::\w+)+", rule["expr"])) & recorded
            assert reads <= before, rule
            before.add(rule.get("record", ""))
        assert recorded <= before


@pytest.mark.prometheus
def test_promtool_accepts_rules_and_settings(promtool: str) -> None:
    checked = run(promtool, "check", "config", str(DEPLOY / "prometheus/prometheus.yml"))

    assert (0, "") == (checked.returncode, checked.stderr)


@pytest.mark.prometheus
def test_what_the_dashboard_sums_ends_with_its_series(promtool: str, tmp_path: Path) -> None:
    # `a` ran on the first of two days, `b` on both; scraped twice an hour
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="effective", window="1d"}': "0x24 stale",
            'ett_gpu_seconds{team="a", area="unsaved", window="1d"}': "300x24 stale",
            'ett_gpu_seconds{team="b", area="effective", window="1d"}': "100x48",
            'ett_attempts{team="b", outcome="completed", window="28d"}': "1x48",
            'ett_time_to_start_seconds{team="a", stat="p50", window="1d"}': "60x24 stale",
        },
        {
            ("ETT", "6h"): [("{}", 0.25)],
            ("ETT", "13h"): [("{}", 1.0)],
            ("Time to start", "6h"): [('{team="a"}', 60.0)],
            ("Time to start", "13h"): [],
        },
    )


@pytest.mark.prometheus
def test_the_dashboard_looks_back_between_the_samples_of_the_past(
    promtool: str, tmp_path: Path
) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="effective", window="1d"}': f"100 {'_ ' * 96}",
            'ett_gpu_seconds{team="b", area="effective", window="1d"}': f"100 {'_ ' * 47}100",
            'ett_gpu_seconds{team="b", area="unsaved", window="1d"}': f"{'_ ' * 48}300",
            'ett_regression_active{team="a", metric="m"}': f"1 {'_ ' * 96}",
            'ett_attempts{team="b", outcome="completed", window="28d"}': f"1 {'_ ' * 47}1",
        },
        {
            ("ETT", "12h"): [("{}", 1.0)],
            ("ETT", "24h"): [("{}", 0.25)],
            ("ETT", "36h"): [("{}", 0.25)],
            ("Open regressions", "12h"): [("{}", 1.0)],
            ("Open regressions", "36h"): [],
        },
    )


@pytest.mark.prometheus
def test_what_was_scraped_is_not_summed_with_what_came_after_it_while_no_scrape_works(
    promtool: str, tmp_path: Path
) -> None:
    # `a` ran on the first of two days, `b` on both; then the exporter is down
    scraped = 'job="ett", instance="x"'
    _holds(
        promtool,
        tmp_path,
        {
            f'ett_gpu_seconds{{team="a", area="unsaved", window="1d", {scraped}}}': "300x8 stale",
            f'ett_gpu_seconds{{team="b", area="effective", window="1d", {scraped}}}': "9x16 stale",
            f'ett_attempts{{team="b", outcome="completed", window="28d", {scraped}}}': "1x16 stale",
        },
        {
            ("ETT", "6h"): [("{}", 1.0)],
            ("ETT", "12h"): [],
            ("Lost GPU-hours by phase", "12h"): [],
        },
    )


@pytest.mark.prometheus
@pytest.mark.parametrize(
    ("success", "open_ones"), [("1x20", [("{}", 0.0)]), ("0x20", []), ("1x5 stale", [])]
)
def test_no_open_regression_is_told_only_where_the_list_could_be_read(
    promtool: str, tmp_path: Path, success: str, open_ones: list[tuple[str, float]]
) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_exporter_read_success{view="regressions"}': success,
            'ett_attempts{team="a", outcome="completed", window="28d"}': "1x20",
        },
        {("Open regressions", "5h"): open_ones},
    )


@pytest.mark.prometheus
@pytest.mark.parametrize(
    ("team", "left"),
    [("a", 0.5), ("b", -1.0), (None, -0.5)],  # all: the fleet's, since theirs differ
)
def test_the_loss_budget_is_held_against_the_target_of_the_chosen_team(
    promtool: str, tmp_path: Path, team: str | None, left: float
) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="effective", window="28d"}': "96x4",
            'ett_gpu_seconds{team="a", area="unsaved", window="28d"}': "32x4",
            'ett_gpu_seconds{team="b", area="effective", window="28d"}': "64x4",
            'ett_gpu_seconds{team="b", area="unsaved", window="28d"}': "64x4",
            'ett_gpu_seconds{team="a", area="unsaved", window="1d"}': "128x4",
            'ett_target_ratio{team="a"}': "0.5x4",
            'ett_target_ratio{team="b"}': "0.75x4",
            'ett_target_ratio{team="fleet"}': "0.75x4",
        },
        {("Loss budget left", "1h"): [("{}", left)]},
        team,
    )


@pytest.mark.prometheus
def test_a_target_of_all_leaves_no_budget_to_be_a_share_of(promtool: str, tmp_path: Path) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="effective", window="28d"}': "96x4",
            'ett_gpu_seconds{team="a", area="unsaved", window="28d"}': "32x4",
            'ett_gpu_seconds{team="a", area="unsaved", window="1d"}': "32x4",
            'ett_target_ratio{team="a"}': "1x4",
        },
        {("Loss budget left", "1h"): [], ("Teams: D", "1h"): []},
        "a",
    )


@pytest.mark.prometheus
def test_a_team_that_never_trained_has_an_ett_of_0(promtool: str, tmp_path: Path) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="trainer_init", window="1d"}': "100x4",
            'ett_gpu_seconds{team="b", area="effective", window="1d"}': "100x4",
            'ett_gpu_seconds{team="c", area="uninstrumented", window="1d"}': "100x4",
        },
        {("Teams", "1h"): [('{team="a"}', 0.0), ('{team="b"}', 1.0)]},
    )
    _holds(
        promtool,
        tmp_path,
        {'ett_gpu_seconds{team="a", area="trainer_init", window="1d"}': "100x4"},
        {("ETT", "1h"): [("{}", 0.0)]},
        "a",
    )


@pytest.mark.prometheus
def test_28_days_are_what_28_days_are(promtool: str, tmp_path: Path) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a", area="effective", window="28d"}': "7x4",
            'ett_gpu_seconds{team="a", area="unsaved", window="28d"}': "3x4",
            'ett_effective_ratio{team="a", window="28d"}': "0.7000000000000001x4",
        },
        {("Teams: B", "1h"): [('{team="a"}', 0.0)]},
        window="28d",
    )


@pytest.mark.prometheus
def test_all_teams_are_those_too_whose_names_break_a_line(promtool: str, tmp_path: Path) -> None:
    _holds(
        promtool,
        tmp_path,
        {
            'ett_gpu_seconds{team="a\\nb", area="trainer_init", window="1d"}': "300x4",
            'ett_gpu_seconds{team="c", area="effective", window="1d"}': "100x4",
        },
        {("ETT", "1h"): [("{}", 0.25)]},
    )


@pytest.mark.prometheus
@pytest.mark.parametrize("team", ['a"b', "a\\b", "a\nb", "a.b|c", "it's"])
def test_a_team_of_any_name_can_be_chosen(promtool: str, tmp_path: Path, team: str) -> None:
    name = json.dumps(team)
    _holds(
        promtool,
        tmp_path,
        {
            f'ett_gpu_seconds{{team={name}, area="trainer_init", window="1d"}}': "300x4",
            f'ett_gpu_seconds{{team={name}, area="effective", window="1d"}}': "100x4",
            'ett_gpu_seconds{team="c", area="effective", window="1d"}': "100x4",
            f'ett_regression_active{{team={name}, metric="m"}}': "1x4",
            'ett_attempts{team="c", outcome="completed", window="28d"}': "1x4",
        },
        {("ETT", "1h"): [("{}", 0.25)], ("Open regressions", "1h"): [("{}", 1.0)]},
        re.sub(r"[\\^$*+?.()|\[\]{}/]", r"\\\g<0>", team),
    )


def test_a_team_whose_gpus_are_unknown_can_be_chosen(tmp_path: Path) -> None:
    asked = re.fullmatch(r"label_values\((\w+), team\)", variable("team")["query"])
    day = datetime(2026, 3, 2, 10)
    told = [
        event
        for team, gpus in (("known", 8), ("unknown", None))
        for event in attempt(team, 1, day, trains=3600.0, team=team, gpus=gpus)
    ]
    with closing(connect(published(ingest(tmp_path, told, datetime(2026, 3, 4))))) as connection:
        families = snapshot_of(list(answers(connection)), "1.2.3").gauges
    teams = {s.labels["team"] for f in families if asked and f.name == asked[1] for s in f.samples}

    assert {"known", "unknown"} == teams


def test_gpu_hours_are_not_shown_as_weeks() -> None:
    shown = json.dumps([panel["fieldConfig"] for panel in panels() if "fieldConfig" in panel])

    assert '"h"' not in shown


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


def test_what_answers_at_a_port_already_is_not_taken_for_what_is_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = subprocess.run(
            [ROOT / "tools" / "monitor"],
            env=os.environ | {"PROMETHEUS_PORT": str(port)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert (2, "") == (told.returncode, told.stdout)
    assert told.stderr.startswith(f"monitor: port {port} cannot be used: Address already in use. P")


def test_stale_data_silences_every_alert_on_numbers_and_not_what_may_be_its_cause() -> None:
    told = (DEPLOY / "alertmanager/alertmanager.yml").read_text(encoding="utf-8")
    silenced = set(re.findall(r"Ett\w+", re.search(r"alertname=~.*", told)[0]))  # type: ignore[index]
    alerts = {alert.name for alert in rules.alerts(Thresholds())}

    assert {
        "EttDataStale", "EttExporterDown", "EttExporterReadFailing", "EttIngestRejectsHigh",
        "EttPublicationsDiffer", "EttWatchStalled",
    } == alerts - silenced  # fmt: skip


def test_grafana_in_a_container_reaches_the_loopback_that_its_datasource_is_on() -> None:
    [datasource] = services.grafana_datasource()["datasources"]
    [command] = re.findall("^docker run .*grafana.*$", (DEPLOY / "README.md").read_text(), re.M)

    assert datasource["url"].startswith("http://127.0.0.1:")
    assert " --network host " in command
    assert " -e GF_SERVER_HTTP_ADDR=127.0.0.1 " in command  # it has no sign-in worth the name


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


def test_a_link_asks_only_for_what_its_panel_has_and_takes_names_as_they_come() -> None:
    for panel in panels():
        for link in panel.get("fieldConfig", {}).get("defaults", {}).get("links", ()):
            asked = re.findall(r"\$\{(__\w+)\.(?:labels|fields)\.(\w+)(:\w+)?\}", link["url"])
            is_table = panel["type"] == "table"
            legends = [target.get("legendFormat", "") for target in panel["targets"]]
            columns = [
                shown
                for one in panel.get("transformations", ())
                for shown in one["options"].get("renameByName", {}).values()
            ]

            assert {":percentencode"} >= {encoded for *_, encoded in asked}, panel["title"]
            assert {"__data" if is_table else "__field"} >= {kind for kind, *_ in asked}
            for _, name, _ in asked:
                told = columns if is_table else re.findall(r"\{\{(\w+)\}\}", " ".join(legends))
                assert name in told, (panel["title"], name)


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
        '[alerts]\nunsaved_ratio = 0.07\ndashboard_url = "https://ett.example/"\nstale_hours = 8\n',
        encoding="utf-8",
    )
    written = files(read_thresholds(settings))
    told = written["prometheus/ett.rules.yml"]
    [age] = [
        panel
        for panel in json.loads(written[str(DASHBOARD.relative_to(DEPLOY))])["panels"]
        if panel["title"] == "Data age"
    ]

    assert '{window="7d"} > 0.07' in told
    assert "https://ett.example/checkpoints?team=" in told
    assert "No new data for more than 8 hours" in told
    assert [None, 8 * 3600, 50 * 3600] == [
        step["value"] for step in age["fieldConfig"]["defaults"]["thresholds"]["steps"]
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[alerts]\nunsaved = 1", "alerts.unsaved is no setting"),
        ("[alerts]\nunsaved_ratio = true", "alerts.unsaved_ratio must be a number above 0"),
        ("[alerts]\nunsaved_ratio = 3", "alerts.unsaved_ratio must be a ratio, 1 at most"),
        ("[alerts]\nstale_hours = inf", "alerts.stale_hours must be a number above 0"),
        ("[alerts]\nloss_burn_week = 0.9", "alerts.loss_burn_week must be 1 or more"),
        ("[alerts]\npreemption_growth = nan", "alerts.preemption_growth must be a number above 0"),
        ("[alerts]\nstale_hours = 60", "alerts.stale_hours, 60, must be below"),
        ('[alerts]\ndashboard_url = "ett"', "alerts.dashboard_url must be an address"),
        ("alerts = 3", "alerts must be a table"),
        ("[alert]\nunsaved_ratio = 0.07", "'alert' is no setting. Known: "),
        ("[alerts", "cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    settings = tmp_path / "ett.toml"
    settings.write_text(text, encoding="utf-8")

    with pytest.raises(UnusableSettings, match=why):
        read_thresholds(settings)


def test_settings_that_are_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["deploy", "--folder", str(tmp_path / "out")])
    monkeypatch.setenv("ETT_CONFIG", "gone.toml")

    assert 2 == write_files()
    assert "deploy: ETT_CONFIG names gone.toml, which does not exist.\n" == capsys.readouterr().err

    monkeypatch.setenv("ETT_CONFIG", "")

    assert 0 == write_files()


def _holds(
    promtool: str,
    folder: Path,
    series: Mapping[str, str],
    told: Mapping[tuple[str, str], list[tuple[str, float]]],
    team: str | None = None,
    window: str = "1d",
) -> None:
    """What a query of a panel says, the first or as `Title: B`, by that and the time: labels and
    values.

    Without a team, of all as the dashboard asks for them.
    """
    chosen = every_team() if team is None else team
    drawn = [panel for panel in reversed(panels()) if panel.get("targets")]
    asked = {panel["title"]: panel["targets"][0]["expr"] for panel in drawn} | {
        f"{panel['title']}: {query['refId']}": query["expr"]
        for panel in drawn
        for query in panel["targets"]
    }
    whole = {
        "evaluation_interval": "30m",
        "tests": [
            {
                "interval": "30m",
                "input_series": [
                    {"series": name, "values": values.strip()} for name, values in series.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": in_grafana(asked[title], chosen, window),
                        "eval_time": at,
                        "exp_samples": [
                            {"labels": labels, "value": value} for labels, value in samples
                        ],
                    }
                    for (title, at), samples in told.items()
                ],
            }
        ],
    }
    path = folder / "dashboard.test.yml"
    path.write_text(json.dumps(whole), encoding="utf-8")
    tested = run(promtool, "test", "rules", str(path))
    assert (0, "") == (tested.returncode, tested.stderr)


def panels() -> list[dict[str, Any]]:
    top = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return top + [panel for row in top for panel in row.get("panels", [])]


def in_grafana(query: str, team: str, window: str) -> str:
    """What Grafana makes of a query. It escapes a chosen name as a regular expression."""
    return query.replace("${team:regex}", team).replace("$window", window)


def every_team() -> str:
    """What `All` stands for."""
    return str(variable("team")["allValue"])


def variable(name: str) -> dict[str, Any]:
    variables = json.loads(DASHBOARD.read_text(encoding="utf-8"))["templating"]["list"]
    return next(one for one in variables if one["name"] == name)


def runbooks() -> list[Path]:
    return sorted((ROOT / "docs/runbooks").glob("*.md"))


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
