"""What the exporter answers, and to whom."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from app.monitoring import server
from app.monitoring.follower import Follower, Pace
from app.monitoring.server import Server
from app.warehouse import connect
from tests.monitoring.conftest import Exporter
from tests.monitoring.serving import Attempt, publish

# what Prometheus 2.42 sends
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)


def test_healthy_without_a_warehouse_but_not_ready(warehouse: Path, exporter: Exporter) -> None:
    ready = exporter.get("/-/ready")

    assert 200 == exporter.get("/-/healthy").status
    assert (503, True) == (
        ready.status,
        "No warehouse is published" in ready.text(),
    )
    assert str(warehouse) not in ready.text()
    assert 200 == exporter.get("/metrics").status


def test_a_backup_is_not_ready_and_no_ingest_would_make_it_so(
    warehouse: Path, serve: Callable[[Pace], Exporter]
) -> None:
    warehouse.mkdir()
    (warehouse / "backup.json").touch()
    ready = serve(Pace(patience=20)).get("/-/ready")

    assert 503 == ready.status
    assert "is a backup. `ett-warehouse restore` makes" in ready.text()
    assert "make ingest" not in ready.text() and str(warehouse) not in ready.text()


def test_ready_once_a_warehouse_is_published(warehouse: Path, exporter: Exporter) -> None:
    publish(warehouse, [Attempt()])
    ready = exporter.get("/-/ready")

    assert (200, "A warehouse is published.\n") == (ready.status, ready.text())


def test_not_healthy_if_publishes_are_no_longer_followed(exporter: Exporter) -> None:
    exporter.follower.stop()

    assert 503 == exporter.get("/-/healthy").status


@pytest.mark.parametrize(
    "path",
    ["/", "/metrics/", "/METRICS", "/metrics%00", "/-/", "/-/health", "/favicon.ico", "*", "//["],
)
def test_other_paths_are_not_found(exporter: Exporter, path: str) -> None:
    reply = exporter.get(path)

    assert (404, True) == (reply.status, "/-/ready" in reply.text())


def test_a_query_string_changes_nothing(exporter: Exporter) -> None:
    assert exporter.get("/metrics").body == exporter.get("/metrics?name[]=x").body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/metrics", "/nowhere"])
def test_only_get_and_head_are_answered(exporter: Exporter, method: str, path: str) -> None:
    reply = exporter.get(path, method=method)

    assert (405, "GET, HEAD") == (reply.status, reply.headers["Allow"])


def test_a_refused_body_does_not_cost_the_client_its_answer(exporter: Exporter) -> None:
    with socket.create_connection(("127.0.0.1", exporter.port), timeout=20) as client:
        client.sendall(b"POST /metrics HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60000)

        assert b" 405 " in client.makefile("rb").read().splitlines()[0]


@pytest.mark.parametrize("path", ["/metrics", "/-/healthy", "/-/ready", "/nowhere"])
def test_head_is_get_without_a_body(exporter: Exporter, path: str) -> None:
    get, head = exporter.get(path), exporter.get(path, method="HEAD")

    assert b"" == head.body
    assert get.status == head.status
    assert get.headers["Content-Length"] == head.headers["Content-Length"]
    assert get.headers["Content-Type"] == head.headers["Content-Type"]


@pytest.mark.parametrize(
    ("accepted", "is_compressed"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
    ],
)
def test_compressed_where_the_client_takes_it(
    warehouse: Path, exporter: Exporter, accepted: str, is_compressed: bool
) -> None:
    publish(warehouse, [Attempt()])
    plain = exporter.get()
    reply = exporter.get(Accept_Encoding=accepted)

    assert is_compressed == (reply.headers.get("Content-Encoding") == "gzip")
    assert plain.body == (gzip.decompress(reply.body) if is_compressed else reply.body)


def test_prometheus_is_given_openmetrics(warehouse: Path, exporter: Exporter) -> None:
    publish(warehouse, [Attempt()])
    reply = exporter.get(Accept=PROMETHEUS)

    assert reply.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert reply.text().endswith("# EOF\n")
    assert list(text_string_to_metric_families(reply.text()))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "accept",
    [
        "",
        "*/*",
        "text/html",
        "text/plain;version=0.0.4",
        "application/openmetrics-text;version=banana",
        "application/openmetrics-text;version=1.b",
        ";;,,=",
        "é" * 1000,
    ],
)
def test_everybody_else_is_given_text(exporter: Exporter, accept: str) -> None:
    reply = exporter.get(Accept=accept)

    assert (200, "text/plain; version=0.0.4; charset=utf-8") == (
        reply.status,
        reply.headers["Content-Type"],
    )


def test_the_reply_does_not_tell_versions_of_what_it_is_made_of(exporter: Exporter) -> None:
    assert "ett-exporter" == exporter.get().headers["Server"]


@pytest.mark.parametrize(
    "sent",
    [
        b"\r\n",
        b"GET\r\n\r\n",
        b"GET /metrics HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /" + b"a" * 70000 + b" HTTP/1.1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_request_is_refused_and_the_next_is_served(
    exporter: Exporter, sent: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", exporter.port), timeout=20) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        try:
            reply = client.makefile("rb").read()
        except ConnectionResetError:
            reply = b""

    assert b" 200 " not in reply.partition(b"\n")[0]
    assert 200 == exporter.get("/-/healthy").status


def test_silent_and_dripping_clients_do_not_hold_up_others(exporter: Exporter) -> None:
    silent = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(40)]
    for client in silent:
        client.sendall(b"GET /met")
    started = time.monotonic()
    statuses = {exporter.get(path).status for path in ("/metrics", "/-/healthy") for _ in range(5)}
    seconds = time.monotonic() - started
    for client in silent:
        client.close()

    assert {200} == statuses
    assert seconds < 5


def test_more_silent_clients_than_connections_do_not_hold_up_others(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_CONNECTIONS", 8)
    silent = [socket.create_connection(("127.0.0.1", exporter.port)) for _ in range(60)]
    reply = exporter.get("/-/healthy")
    running = [t for t in threading.enumerate() if "process_request_thread" in t.name]
    for client in silent:
        client.close()

    assert 200 == reply.status
    assert len(running) < 30


def test_a_client_that_says_nothing_is_hung_up_on(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server._Handler, "timeout", 0.2)
    with socket.create_connection(("127.0.0.1", exporter.port), timeout=20) as client:
        assert b"" == client.recv(1)


def test_a_client_that_drips_is_hung_up_on(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_CONNECTION_SECONDS", 0.5)
    with socket.create_connection(("127.0.0.1", exporter.port), timeout=20) as client:
        assert drip(client, seconds=20) < 10


def test_a_client_that_does_not_read_its_answer_holds_up_nobody(
    warehouse: Path, exporter: Exporter
) -> None:
    publish(warehouse, [Attempt(team=f"{n}" + "x" * 3000) for n in range(50)])
    deaf = []
    for _ in range(20):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", exporter.port))
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        deaf.append(client)
    started = time.monotonic()
    status = exporter.get().status
    seconds = time.monotonic() - started
    for client in deaf:
        client.close()

    assert 200 == status
    assert seconds < 5


def test_it_listens_on_ipv6_too(warehouse: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        listening = Server("::1", 0, Follower(warehouse, "1.2.3"))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    url = listening.url()
    listening.server_close()

    assert url.startswith("http://[::1]:")


def test_it_listens_where_it_was_told_and_nowhere_else(exporter: Exporter) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", exporter.port), timeout=5)


def test_a_scrape_does_not_wait_for_a_slow_read(
    warehouse: Path, serve: Callable[[Pace], Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    monkeypatch.setattr("app.warehouse.connect", lambda path: go_on.wait(60) and connect(path))
    publish(warehouse, [Attempt()])
    exporter = serve(Pace(patience=0.2))
    started = time.monotonic()
    statuses = [exporter.get(path).status for path in ("/metrics", "/-/healthy", "/-/ready")]
    seconds = time.monotonic() - started
    monkeypatch.undo()
    go_on.set()

    assert [200, 200, 503] == statuses
    assert seconds < 10


def drip(client: socket.socket, seconds: float) -> float:
    """Send a byte now and then until the other side hangs up; returns after how long that was."""
    started = time.monotonic()
    while time.monotonic() - started < seconds:
        try:
            client.sendall(b"a")
        except OSError:
            break
        time.sleep(0.05)
    return time.monotonic() - started
