"""The units of systemd and the compose file: sound as far as can be told without running them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(
    (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8")
)["services"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_a_unit_and_calls_it_well_confined(unit: Path, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze: as root, apt-get install systemd")
    here = tmp_path / unit.name
    # the commands are looked for; where they are installed is another matter
    text = unit.read_text(encoding="utf-8").replace(
        "/opt/ett/.venv/bin", str(Path(sys.prefix, "bin"))
    )
    here.write_text(text, encoding="utf-8")
    verified = subprocess.run([analyze, "verify", here], capture_output=True, text=True)
    rated = subprocess.run(
        [analyze, "security", "--offline=yes", "--threshold=20", "--no-pager", here],
        capture_output=True,
        text=True,
    )

    assert (0, "") == (verified.returncode, verified.stderr)
    assert 0 == rated.returncode, rated.stdout


def test_the_units_start_the_commands_that_compose_starts() -> None:
    started = {
        re.search(r"^ExecStart=\S*/(\S+)", unit.read_text(encoding="utf-8"), re.M)[1]
        for unit in UNITS
    }

    assert {"ett-ingest", "ett-dashboard", "ett-exporter"} == started
    assert started == {service["command"][0] for service in SERVICES.values()}


def test_commands_by_hand_are_told_as_the_units_run_theirs() -> None:
    told = (ROOT / "deploy/README.md").read_text(encoding="utf-8")
    unit = (ROOT / "deploy/systemd/ett-ingest.service").read_text(encoding="utf-8")
    user, folder, command = (
        re.search(rf"^{setting}=(\S+)", unit, re.M)[1]
        for setting in ("User", "WorkingDirectory", "ExecStart")
    )
    bin = command.removesuffix("ett-ingest")

    assert f"\ncd {folder} && runuser -u {user} -- {bin}ett-warehouse check\n" in told
    assert f"ETT_WAREHOUSE={folder}/warehouse " in unit  # what is the default there


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_may_write_no_more_than_it_needs_and_is_reached_from_this_machine_only(
    name: str,
) -> None:
    service = SERVICES[name]
    writable = [volume for volume in service["volumes"] if not volume.endswith(":ro")]

    assert service["read_only"]
    assert ["ALL"] == service["cap_drop"]
    assert (["state:/var/lib/ett"] if name == "ingest" else []) == writable
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_an_image_holds_nothing_that_was_made_here() -> None:
    made = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    left_out = (ROOT / "deploy/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    names = {line.strip("/") for line in made if line and not line.startswith("#")}

    assert names | {".git"} == {
        line.removeprefix("**/") for line in left_out if not line.startswith("#")
    }
