"""The exporter behind TLS and passwords, as `--web-config` says it, asked by real clients."""

from __future__ import annotations

import base64
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar

import bcrypt
import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.monitoring.doors import Doors
from app.monitoring.exporter import main
from app.monitoring.follower import Follower, Pace
from app.monitoring.server import Server
from app.monitoring.web_config import UnusableWebConfig, read_web_config
from tests.monitoring.serving import Attempt, publish

SECRET = "correct horse"
HASH = bcrypt.hashpw(SECRET.encode(), bcrypt.gensalt(4)).decode()
ROOT = Path(__file__).parents[2]
T = TypeVar("T")


@pytest.fixture
def pki(tmp_path: Path) -> Path:
    """A folder with an authority `ca.crt`, and certificates of it for a server and a client."""
    authority = made(tmp_path, "ca")
    made(tmp_path, "server", *authority)
    made(tmp_path, "client", *authority)
    return tmp_path


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    publish(tmp_path / "warehouse", [Attempt()])
    following = Follower(tmp_path / "warehouse", "1.2.3", Pace(patience=20, interval=600, retry=0))
    following.start()
    yield following
    following.stop()


TLS = {"cert_file": "server.crt", "key_file": "server.key"}


def test_tls_and_a_password_let_in_who_has_both(pki: Path, follower: Follower) -> None:
    config = written(pki, tls_server_config=TLS, basic_auth_users={"prom": HASH})
    with serving(follower, config) as port:
        told = asked(port, pki, user="prom")
        refused = asked(port, pki)

    assert (200, True) == (told[0], b"ett_build_info" in told[2])
    assert (401, b"A name and a password are needed here.\n") == (refused[0], refused[2])
    assert 'Basic realm="ett-exporter", charset="UTF-8"' == refused[1]["WWW-Authenticate"]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Basic",
        "Basic !!!",
        "Bearer x",
        f"Basic {base64.b64encode(b'prom').decode()}",
        f"Basic {base64.b64encode(b'prom:wrong').decode()}",
        f"Basic {base64.b64encode(b'prom:').decode()}",
        f"Basic {base64.b64encode(f'other:{SECRET}'.encode()).decode()}",
        f"Basic {base64.b64encode(b'prom:' + b'x' * 5000).decode()}",
        f"Basic {base64.b64encode(b'prom:' + SECRET.encode() + b'x' * 72).decode()}",
        f"Basic {base64.b64encode(b'prom:a' + bytes(3)).decode()}",
        f"Basic {base64.b64encode(bytes(range(128, 200))).decode()}",
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/-/healthy", "/nowhere"])
def test_nobody_else_is_told_anything(pki: Path, header: str, path: str) -> None:
    doors = Doors(written(pki, basic_auth_users={"prom": HASH}))
    with serving(Follower(pki / "warehouse", "1"), doors) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", path, headers={"Authorization": header})
        reply = connection.getresponse()

        assert (401, b"A name and a password are needed here.\n") == (reply.status, reply.read())
        connection.close()


def test_a_password_is_compared_once_and_a_wrong_one_each_time(pki: Path) -> None:
    doors = Doors(written(pki, basic_auth_users={"prom": HASH}))
    right, wrong = (
        f"Basic {base64.b64encode(f'prom:{word}'.encode()).decode()}" for word in (SECRET, "no")
    )

    assert [True, True, False, False] == [doors.lets_in(said) for said in (right, right, wrong, "")]
    assert 1 == len(doors._known)
    assert SECRET.encode() not in next(iter(doors._known))


def test_who_speaks_no_tls_holds_up_nobody(pki: Path, follower: Follower) -> None:
    with serving(follower, written(pki, tls_server_config=TLS)) as port:
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
        with pytest.raises((HTTPException, OSError)):
            plainly(port)
        status, _, _ = asked(port, pki)
        for client in silent:
            client.close()

    assert 200 == status


def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(
    pki: Path, follower: Follower
) -> None:
    mutual = {
        **TLS,
        "client_auth_type": "RequireAndVerifyClientCert",
        "client_ca_file": "ca.crt",
        "min_version": "TLS13",
    }
    with serving(follower, written(pki, tls_server_config=mutual)) as port:
        with pytest.raises((HTTPException, OSError)):
            asked(port, pki)

        assert 200 == asked(port, pki, certificate="client")[0]


def test_an_older_tls_than_was_asked_for_is_refused(pki: Path, follower: Follower) -> None:
    with (
        serving(follower, written(pki, tls_server_config={**TLS, "min_version": "TLS13"})) as port,
        pytest.raises(ssl.SSLError),
    ):
        asked(port, pki, at_most=ssl.TLSVersion.TLSv1_2)


def test_what_is_renewed_counts_at_once_and_nothing_opens_meanwhile(
    pki: Path, follower: Follower
) -> None:
    config = written(pki, tls_server_config=TLS, basic_auth_users={"prom": HASH})
    with serving(follower, config) as port:
        before = asked(port, pki, user="prom")[0]
        old = serial(port, pki)
        made(pki, "server", *authority_of(pki))
        written(pki, tls_server_config=TLS, basic_auth_users={"other": HASH})
        after = [asked(port, pki, user=name)[0] for name in ("prom", "other")]
        new = serial(port, pki)
        config.write_text("tls_server_config: {cert_file: gone.crt, key_file: server.key}")
        kept = asked(port, pki, user="other")[0]
        written(pki, tls_server_config=TLS)
        still_asked = asked(port, pki)[0]

    assert (200, [401, 200], 200) == (before, after, kept)
    assert old != new
    assert 401 == still_asked


@pytest.mark.parametrize(
    "less",
    [
        TLS,
        {**TLS, "client_auth_type": "VerifyClientCertIfGiven", "client_ca_file": "ca.crt"},
        {**TLS, "client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "ca.crt"},
    ],
    ids=["no certificate of clients", "one if given", "an older TLS"],
)
def test_a_config_that_asks_less_of_clients_counts_only_from_the_next_start(
    pki: Path, less: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    mutual = {
        **TLS,
        "client_auth_type": "RequireAndVerifyClientCert",
        "client_ca_file": "ca.crt",
        "min_version": "TLS13",
    }
    doors = Doors(written(pki, tls_server_config=mutual))
    before = doors._config
    written(pki, tls_server_config=less)
    near, far = socket.socketpair()
    with near, far, doors.around(near):
        pass

    assert before == doors._config
    assert "asks for less than before: restart ett-exporter if that is meant." in caplog.text


def test_answers_tell_a_browser_to_do_nothing_with_them(follower: Follower) -> None:
    with serving(follower, None) as port:
        replies = [plainly(port, path) for path in ("/metrics", "/-/ready", "/nowhere")]

    for _, headers, _ in replies:
        assert "nosniff" == headers["X-Content-Type-Options"]
        assert "no-store" == headers["Cache-Control"]
        assert "default-src 'none'; frame-ancestors 'none'" == headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must have tls_server_config, basic_auth_users or both"),
        ("[]", "must have tls_server_config"),
        ("a: b: c", "cannot be read: line 1: mapping values"),
        ("basic_auth_users:\n  ann: hunter2: x", "cannot be read: line 2: mapping values"),
        ("basic_auth_users: {ann: hunter2", "cannot be read: line 1: expected ',' or '}'"),
        ("ann: 'hunter2", "cannot be read: line 1: found unexpected end of stream"),
        ("!!python/object/apply:os.system ['id']", "cannot be read: line 1: could not determine"),
        ("[" * 5000, "cannot be read: "),
        ("http_server_config: {http2: true}", "http_server_config is no setting of ett-exporter"),
        ("tls_server_config: 5", "tls_server_config must have keys below it"),
        ("tls_server_config: {}", "tls_server_config.cert_file must name a file"),
        ("tls_server_config: {cert_file: a}", "tls_server_config.key_file must name a file"),
        ("tls_server_config: {cipher_suites: []}", "tls_server_config.cipher_suites is no setting"),
        (
            "tls_server_config: {cert_file: a, key_file: b, min_version: TLS10}",
            "tls_server_config.min_version 'TLS10' is not offered. Known: TLS12, TLS13",
        ),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_auth_type: RequestClientCert}",
            "tls_server_config.client_auth_type 'RequestClientCert' is not offered",
        ),
        (
            "tls_server_config: {cert_file: a, key_file: b, client_ca_file: c}",
            "tls_server_config.client_ca_file goes with a client_auth_type that verifies",
        ),
        (
            "tls_server_config: {cert_file: a, key_file: b, "
            "client_auth_type: RequireAndVerifyClientCert}",
            "tls_server_config.client_ca_file goes with",
        ),
        ("basic_auth_users: {}", "basic_auth_users names nobody"),
        ("basic_auth_users: [ann]", "basic_auth_users must have keys below it"),
        ("basic_auth_users: {5: x}", "basic_auth_users: 5 must be a name"),
        ("basic_auth_users: {'a:b': x}", "'a:b' must be a name without a colon"),
        (
            f"basic_auth_users: {{ann: '{HASH}', bob: '{HASH}', ann: hunter2}}",
            "cannot be read: line 1: ann is told twice",
        ),
        ("{basic_auth_users: {}, basic_auth_users: {ann: hunter2}}", "basic_auth_users is told"),
        ("basic_auth_users: {ann: hunter2}", "basic_auth_users.ann must be the password's bcrypt"),
    ],
)
def test_a_slip_is_told_with_file_and_key_and_without_a_secret(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "web.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnusableWebConfig) as refusal:
        read_web_config(path)

    assert said in str(refusal.value)
    assert str(refusal.value).startswith(str(path))
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("spoilt", ["server.crt", "server.key", "ca.crt"])
def test_a_file_that_does_not_fit_is_told_before_anything_is_served(
    pki: Path, spoilt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mutual = {
        **TLS, "client_auth_type": "VerifyClientCertIfGiven", "client_ca_file": "ca.crt",
    }  # fmt: skip
    config = written(pki, tls_server_config=mutual)
    (pki / spoilt).write_text("nothing of the kind")

    held = signal.pthread_sigmask(signal.SIG_BLOCK, [])

    assert 2 == main(["--web-config", str(config), "--port", "0"])
    assert f"ett-exporter: {config}: tls_server_config." in capsys.readouterr().err
    assert held == signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.slow
@pytest.mark.prometheus
def test_prometheus_scrapes_it_through_tls_with_a_password(pki: Path, follower: Follower) -> None:
    config = written(pki, tls_server_config=TLS, basic_auth_users={"prom": HASH})
    with serving(follower, config) as port:
        job = {
            "job_name": "ett",
            "scheme": "https",
            "scrape_interval": "1s",
            "scrape_timeout": "1s",
            "basic_auth": {"username": "prom", "password": SECRET},
            "tls_config": {"ca_file": str(pki / "ca.crt")},
            "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        }
        (pki / "prometheus.yml").write_text(yaml.safe_dump({"scrape_configs": [job]}))

        assert "up" == scraped(pki)


@pytest.mark.slow
def test_the_command_serves_what_its_web_config_says(pki: Path) -> None:
    config = written(pki, tls_server_config=TLS, basic_auth_users={"prom": HASH})
    port = free_port()
    command = [Path(sys.executable).with_name("ett-exporter"), f"--port={port}"]
    running = subprocess.Popen(
        [*command, f"--web-config={config}", f"--warehouse={pki / 'none'}"],
        cwd=pki,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    try:
        status = eventually(lambda: asked(port, pki, user="prom", path="/-/healthy")[0])
        refused = asked(port, pki, path="/-/healthy")[0]
        with pytest.raises(ConnectionRefusedError):  # not told where: on loopback only
            socket.create_connection(("127.0.0.2", port), timeout=20)
    finally:
        running.terminate()
        running.wait(timeout=20)

    assert (200, 401) == (status, refused)


# certificates, servers, clients


def made(
    folder: Path,
    name: str,
    issuer: x509.Certificate | None = None,
    signer: ec.EllipticCurvePrivateKey | None = None,
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Write `name.crt` and `name.key`; without an issuer they are an authority's own."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        # clients of later releases of Python ask an authority for these
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key((signer or key).public_key()),
            critical=False,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(uses(is_authority=issuer is None), critical=True)
        .sign(signer or key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(private)
    return certificate, key


def uses(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def authority_of(pki: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    certificate = x509.load_pem_x509_certificate((pki / "ca.crt").read_bytes())
    key = serialization.load_pem_private_key((pki / "ca.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return certificate, key


def written(folder: Path, **config: object) -> Path:
    path = folder / "web.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@contextmanager
def serving(follower: Follower, config: Path | Doors | None) -> Iterator[int]:
    doors = config if isinstance(config, Doors) else Doors(config)
    server = Server("127.0.0.1", 0, follower, doors)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


Answer = tuple[int, dict[str, str], bytes]


def asked(
    port: int,
    pki: Path,
    path: str = "/metrics",
    user: str | None = None,
    certificate: str | None = None,
    at_most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> Answer:
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    context.maximum_version = at_most
    if certificate:
        context.load_cert_chain(pki / f"{certificate}.crt", pki / f"{certificate}.key")
    said = base64.b64encode(f"{user}:{SECRET}".encode()).decode()
    connection = HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
    try:
        connection.request("GET", path, headers={"Authorization": f"Basic {said}"} if user else {})
        reply = connection.getresponse()
        return reply.status, dict(reply.headers), reply.read()
    finally:
        connection.close()


def plainly(port: int, path: str = "/metrics") -> Answer:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, dict(reply.headers), reply.read()
    finally:
        connection.close()


def serial(port: int, pki: Path) -> int:
    text = ssl.get_server_certificate(("127.0.0.1", port), ca_certs=str(pki / "ca.crt"))
    return x509.load_pem_x509_certificate(text.encode()).serial_number


def scraped(folder: Path) -> str:
    """What Prometheus says of the one target of its configuration, once it has scraped it."""
    port = free_port()
    running = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def health() -> str:
        status, _, body = plainly(port, "/api/v1/targets?state=active")
        assert status == 200  # while it starts it says that it cannot serve yet
        (target,) = yaml.safe_load(body)["data"]["activeTargets"]
        assert target["health"] != "unknown"
        return f"{target['health']}{target['lastError']}"

    try:
        return eventually(health)
    finally:
        running.terminate()
        running.wait(timeout=20)


def eventually(ask: Callable[[], T]) -> T:
    """The first answer of a server that comes up."""
    until = time.monotonic() + 60
    while True:
        try:
            return ask()
        except (OSError, HTTPException, AssertionError, ValueError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
