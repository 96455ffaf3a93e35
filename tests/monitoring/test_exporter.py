"""`ett-exporter` as a process: what it says, how it ends, and a real Prometheus that scrapes it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.monitoring.serving import Attempt, publish

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (str(Path(sys.executable).with_name("ett-exporter")),)

pytestmark = pytest.mark.slow


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program with its stderr in a file; ends what is left of it."""
    running: list[subprocess.Popen[str]] = []

    def begin(*command: str, **environment: str) -> subprocess.Popen[str]:
        with (tmp_path / "stderr").open("w", encoding="utf-8") as stderr:
            running.append(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=os.environ | environment,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                )
            )
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_code_0_and_nothing_on_stdout(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    publish(tmp_path / "warehouse", [Attempt()])
    exporter = start(*COMMAND, "--port", "0", "--warehouse", str(tmp_path / "warehouse"))
    url = listening(tmp_path / "stderr")
    status, _ = get(url)
    exporter.send_signal(number)

    assert (200, 0, "") == (status, exporter.wait(20), exporter.communicate()[0])
    assert f"ended by {number.name}" in (tmp_path / "stderr").read_text(encoding="utf-8")


def test_a_signal_ends_it_while_clients_hang_on(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    exporter = start(*COMMAND, "--port", "0", "--warehouse", str(tmp_path / "warehouse"))
    address = urlsplit(listening(tmp_path / "stderr"))
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(b"GET /met")
        time.sleep(0.2)
        exporter.send_signal(signal.SIGTERM)

        assert 0 == exporter.wait(20)


def test_the_log_is_one_json_object_a_line(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    odd = tmp_path / 'a "warehouse"\nof two lines'
    exporter = start(*COMMAND, "--port", "0", "--verbose", ETT_WAREHOUSE=str(odd))
    get(listening(tmp_path / "stderr"))
    exporter.send_signal(signal.SIGTERM)
    exporter.wait(20)
    lines = (tmp_path / "stderr").read_text(encoding="utf-8").splitlines()

    assert {"at", "level", "logger", "message"} == {
        key for line in lines for key in json.loads(line)
    }
    assert any(str(odd) in json.loads(line)["message"] for line in lines)


def test_a_taken_port_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        refused = run("--port", port, "--warehouse", str(tmp_path))

    assert (2, "") == (refused.returncode, refused.stdout)
    assert (
        f"ett-exporter: port {port} of 127.0.0.1 is taken. "
        "Stop what listens there, or choose another --port.\n"
    ) == refused.stderr


def test_an_address_of_another_machine_is_said_in_a_sentence(tmp_path: Path) -> None:
    refused = run("--host", "192.0.2.1", "--port", "0", "--warehouse", str(tmp_path))

    assert (2, 1) == (refused.returncode, len(refused.stderr.splitlines()))
    assert "cannot listen at 192.0.2.1" in refused.stderr


@pytest.mark.parametrize("port", ["-1", "65536", "http", "\u0663"])
def test_what_is_no_port_is_refused(port: str) -> None:
    refused = run(f"--port={port}")

    assert 2 == refused.returncode
    assert "is not a port" in refused.stderr


def test_help_shows_examples_and_the_defaults() -> None:
    helped = run("--help")

    assert 0 == helped.returncode
    for said in ("examples:", "127.0.0.1", "9108", "ETT_WAREHOUSE", "/-/healthy", "/-/ready"):
        assert said in helped.stdout


def test_it_needs_no_streamlit() -> None:
    imported = "import app.monitoring.exporter, sys; print('streamlit' in sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", imported], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "False\n" == printed.stdout


@pytest.mark.prometheus
def test_a_real_prometheus_scrapes_it_and_follows_a_publish(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus: as root, apt-get install prometheus")
    team = 'ra"nk\\ing\nof 🚂'
    publish(tmp_path / "warehouse", [Attempt(team=team, gpus=1)])
    start(*COMMAND, "--port", "0", "--warehouse", str(tmp_path / "warehouse"))
    target = urlsplit(listening(tmp_path / "stderr")).netloc
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 300ms}\n"
        f"scrape_configs: [{{job_name: ett, static_configs: [{{targets: ['{target}']}}]}}]\n",
        encoding="utf-8",
    )
    address = f"127.0.0.1:{free_port()}"
    start(
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address={address}",
    )
    selector = 'ett_gpu_seconds{job="ett",window="7d"}'

    assert [({"team": team, "area": "effective"}, "900")] == found(address, selector, "900")
    assert [({}, "1")] == found(address, 'up{job="ett"}', "1")

    publish(tmp_path / "warehouse", [Attempt(team=team, gpus=2)])

    assert [({"team": team, "area": "effective"}, "1800")] == found(address, selector, "1800")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


def listening(stderr: Path) -> str:
    for _ in range(400):
        url = re.search(r"http://[^\"\s]+", stderr.read_text(encoding="utf-8"))
        if url:
            return url[0]
        time.sleep(0.05)
    raise AssertionError(stderr.read_text(encoding="utf-8"))


def get(url: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def found(address: str, selector: str, value: str) -> list[tuple[dict[str, str], str]]:
    """Labels (team and area) and value of each series, once one of them has this value."""
    result: list[Any] = []
    for _ in range(300):
        try:
            _, body = get(f"http://{address}/api/v1/query?query={quote(selector)}")
            result = json.loads(body)["data"]["result"]
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            result = []
        if any(series["value"][1] == value for series in result):
            break
        time.sleep(0.1)
    return [
        ({k: v for k, v in s["metric"].items() if k in ("team", "area")}, s["value"][1])
        for s in result
    ]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
