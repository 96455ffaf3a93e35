"""`make deploy`: write every file under deploy/ that a server loads, from the code beside them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from deploy import rules, services
from deploy.dashboard import dashboard_json
from deploy.thresholds import Thresholds, UnusableSettings, read_thresholds
from ingest import places
from ingest.errors import UnusableArguments

_FOLDER = Path(__file__).parent
_HEAD = "# Written by `make deploy`; thresholds are [alerts] in ett.toml.\n"


def files(limits: Thresholds) -> dict[str, str]:
    """Text of each file, by its path under deploy/."""
    provisioning = "grafana/provisioning"
    return {
        "prometheus/prometheus.yml": _yaml(services.prometheus()),
        "prometheus/ett.rules.yml": _yaml(rules.rule_file(limits)),
        "alertmanager/alertmanager.yml": _yaml(services.alertmanager()),
        f"{provisioning}/datasources/ett.yml": _yaml(services.grafana_datasource()),
        f"{provisioning}/dashboards/ett.yml": _yaml(services.grafana_provider()),
        f"{provisioning}/dashboards/ett/fleet-ett.json": dashboard_json(limits),
    }


def main() -> int:
    """Write the files. Returns 0, or 2 where the settings cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m deploy", description=__doc__)
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where to (default: deploy/)")
    chosen = parser.parse_args()
    try:
        limits = read_thresholds(places.config())
    except (UnusableArguments, UnusableSettings) as error:
        print(f"deploy: {error}", file=sys.stderr)
        return 2
    for name, text in files(limits).items():
        path = chosen.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


def _yaml(content: object) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, width=1000, allow_unicode=True)
    return _HEAD + text


if __name__ == "__main__":
    sys.exit(main())
