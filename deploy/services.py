"""Settings of Prometheus and Alertmanager, and what Grafana is provisioned with. Reads no file."""

from __future__ import annotations

from typing import Any

# Numbers that are old must not page; that they are old does. Lines that are set aside are no such
# number: they may be why nothing new comes.
_OF_NUMBERS = (
    "EttLossBudgetBurningFast",
    "EttBelowTarget",
    "EttUnsavedTimeHigh",
    "EttUnaccountedTimeHigh",
    "EttRegression",
    "EttPreemptionRatioHigh",
    "EttSourceStale",
)


def prometheus() -> dict[str, Any]:
    """Scrapes the exporter, loads the rules beside it, tells Alertmanager; all on this machine."""
    return {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": ["ett.rules.yml"],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]},
        "scrape_configs": [
            {"job_name": "ett", "static_configs": [{"targets": ["127.0.0.1:9108"]}]}
        ],
    }


def alertmanager() -> dict[str, Any]:
    """One receiver for tickets, one for pages; while the data is stale, its numbers are silent."""
    return {
        "route": {
            "receiver": "tickets",
            "group_by": ["alertname", "team"],
            "group_wait": "30s",
            "group_interval": "5m",
            "repeat_interval": "24h",
            "routes": [{"matchers": ['severity="page"'], "receiver": "pager"}],
        },
        # put webhook_configs, slack_configs, email_configs or pagerduty_configs into these
        "receivers": [{"name": "tickets"}, {"name": "pager"}],
        "inhibit_rules": [
            {
                "source_matchers": ['alertname="EttDataStale"'],
                "target_matchers": [f'alertname=~"{"|".join(_OF_NUMBERS)}"'],
            }
        ],
    }


def grafana_datasource() -> dict[str, Any]:
    """The Prometheus of `make monitor`."""
    return {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "ETT Prometheus",
                "uid": "ett-prometheus",
                "type": "prometheus",
                "access": "proxy",
                "url": "http://127.0.0.1:9090",
                "jsonData": {"timeInterval": "15s"},
            }
        ],
    }


def grafana_provider() -> dict[str, Any]:
    """Where Grafana looks for the dashboard, if the folder is mounted as deploy/README.md says."""
    return {
        "apiVersion": 1,
        "providers": [
            {
                "name": "ett",
                "folder": "ETT",
                "type": "file",
                "options": {"path": "/etc/grafana/provisioning/dashboards/ett"},
            }
        ],
    }
