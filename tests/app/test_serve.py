"""The supervisor behind `make run`, with small stand-in servers in place of the two faces."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection

import pytest

from app import serve

STAND_IN = """
import http.server, signal, sys, time

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *_): pass

kind, port = sys.argv[1], int(sys.argv[2])
if kind == "dies":
    sys.exit(7)
if kind == "mute":
    print("mute is up", flush=True)
    time.sleep(60)
if kind == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", port), Answer).serve_forever()
"""

SUPERVISOR = """
import sys
from app import serve

serve.STOP_SECONDS = 1.0
start = (sys.executable, "-c", sys.argv[1])
faces = [
    serve.Face(f"face {kind}", (*start, kind, port), int(port), "P", "/", "ok")
    for kind, port in (argument.split(":") for argument in sys.argv[2:])
]
sys.exit(serve.serve(faces))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_both_urls_are_printed_once_both_answer_and_a_signal_stops_both(number: int) -> None:
    first, second = free_ports(2)
    with supervisor(f"a:{first}", f"b:{second}") as process:
        printed = [process.stdout.readline() for _ in range(3)]
        answered = [answers(first), answers(second)]
        process.send_signal(number)
        code = process.wait(20)

    assert printed[0] == f"Face a  http://127.0.0.1:{first}/\n"
    assert printed[1] == f"Face b  http://127.0.0.1:{second}/\n"
    assert [True, True] == answered
    assert 0 == code
    assert [False, False] == [answers(first), answers(second)]


def test_a_face_that_ends_by_itself_ends_the_other_with_a_sentence() -> None:
    first, second = free_ports(2)
    with supervisor(f"a:{first}", f"dies:{second}") as process:
        output, errors = process.communicate(timeout=20)

    assert (1, "") == (process.returncode, output)
    assert "serve: the face dies ended by itself with exit code 7" in errors
    assert not answers(first)


def test_a_face_that_ignores_the_signal_is_killed() -> None:
    [port] = free_ports(1)
    with supervisor(f"stubborn:{port}") as process:
        process.stdout.readline()
        process.terminate()
        code = process.wait(20)

    assert 0 == code
    assert not answers(port)


def test_a_signal_before_the_faces_answer_stops_them_too() -> None:
    first, second = free_ports(2)
    with supervisor(f"a:{first}", f"mute:{second}") as process:
        heard = process.stdout.readline()
        process.terminate()
        output, _ = process.communicate(timeout=20)

    assert "mute is up\n" == heard
    assert (0, "") == (process.returncode, output)
    assert not answers(first)


def test_a_taken_port_is_refused_with_the_variable_that_changes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        [free] = free_ports(1)
        code = serve.main(["--exporter-port", str(port), "--dashboard-port", str(free), "--check"])

    assert 2 == code
    message = capsys.readouterr().err
    assert f"port {port} of the exporter cannot be used: Address already in use." in message
    assert re.search(r"give make another: EXPORTER_PORT=\d+$", message)
    assert "make run" not in message


def test_the_port_that_is_proposed_is_free(capsys: pytest.CaptureFixture[str]) -> None:
    [port] = free_ports(1)
    with ExitStack() as taken:
        for each in range(port, min(port + 3, 65536)):
            with suppress(OSError):  # another has it
                taken.enter_context(socket.create_server(("127.0.0.1", each)))
        [free] = free_ports(1)
        serve.main(["--exporter-port", str(port), "--dashboard-port", str(free), "--check"])
        proposed = int(capsys.readouterr().err.rpartition("=")[2])
        code = serve.main(
            ["--exporter-port", str(proposed), "--dashboard-port", str(free), "--check"]
        )

    assert 0 == code


def test_one_port_for_both_faces_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    [port] = free_ports(1)
    code = serve.main(["--exporter-port", str(port), "--dashboard-port", str(port), "--check"])

    assert 2 == code
    assert (
        f"serve: dashboard and exporter cannot both have port {port}.\n" == capsys.readouterr().err
    )


@pytest.mark.parametrize("text", ["0", "65536", "http", "-1", "8501.0"])
def test_what_is_no_port_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        serve.main([f"--dashboard-port={text}", "--check"])

    assert 2 == stop.value.code
    assert "is no port: a number from 1 to 65535" in capsys.readouterr().err


def test_ports_come_from_the_environment_that_make_passes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [port] = free_ports(1)
    monkeypatch.setenv("DASHBOARD_PORT", str(port))
    monkeypatch.setenv("EXPORTER_PORT", str(port))
    serve.main(["--check"])

    assert f"cannot both have port {port}" in capsys.readouterr().err


def test_a_missing_console_script_says_what_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    face = serve.Face("dashboard", ("/nowhere/ett-dashboard",), 1, "DASHBOARD_PORT", "/")
    code = serve.serve([face])

    assert 1 == code
    assert "Run `make install`." in capsys.readouterr().err


@contextmanager
def supervisor(*faces: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, STAND_IN, *faces],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            # even one that listens to no signal: leaving `with process` waits for its end
            process.kill()


def free_ports(count: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
