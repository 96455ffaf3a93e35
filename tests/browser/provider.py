"""A small OpenID provider on loopback: a page of people to choose from, codes, signed tokens.

It holds its client to the protocol: a code counts once, with the secret, the address and the proof
key that it was asked with.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "ett", "a secret of the test's own"


@dataclass(slots=True)
class Provider:
    """`people`: claims by the name on the page. `asked` holds what waits for its code."""

    people: Mapping[str, Mapping[str, Any]]
    port: int = 0
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "1"}))
    asked: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def metadata(self) -> dict[str, object]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "end_session_endpoint": f"{self.url}/leave",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def token(self, code: str, said: Mapping[str, str]) -> dict[str, object] | None:
        """What a code is worth; None where it was not given out, or not to this client."""
        asked = self.asked.pop(code, {})
        proof = base64.urlsafe_b64encode(
            hashlib.sha256(said.get("code_verifier", "").encode()).digest()
        )
        if (
            said.get("redirect_uri") != asked.get("redirect_uri")
            or proof.rstrip(b"=").decode() != asked.get("code_challenge")
            or asked.get("client_id") != CLIENT
        ):
            return None
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": asked["who"],
            "iat": now,
            "exp": now + 3600,
            "nonce": asked["nonce"],
            **self.people[asked["who"]],
        }
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.key)
        return {"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": signed}


@contextmanager
def provider(people: Mapping[str, Mapping[str, Any]]) -> Iterator[Provider]:
    """The provider, up on a free port."""
    made = Provider(people)

    class Handler(_Handler):
        provider = made

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


class _Handler(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path:
            case "/.well-known/openid-configuration":
                self._json(self.provider.metadata)
            case "/keys":
                self._json({"keys": [self.provider.key.as_dict(private=False)]})
            case "/authorize":
                self._page(asked)
            case "/chosen":
                code = secrets.token_urlsafe()
                self.provider.asked[code] = asked
                answer = urlencode({"code": code, "state": asked["state"]})
                self._go(f"{asked['redirect_uri']}?{answer}")
            case "/leave":
                self._go(asked["post_logout_redirect_uri"])
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        said = {name: values[0] for name, values in parse_qs(body).items()}
        known = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        told = None
        if self.headers["Authorization"] == f"Basic {known}":
            told = self.provider.token(said.get("code", ""), said)
        self._json(told or {"error": "invalid_grant"}, 200 if told else 400)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _page(self, asked: Mapping[str, str]) -> None:
        links = "".join(
            f'<p><a href="/chosen?{html.escape(urlencode({**asked, "who": who}))}">{who}</a>'
            for who in self.provider.people
        )
        self._send(f"<!doctype html><title>Who are you?</title>{links}".encode(), "text/html")

    def _json(self, told: object, status: int = 200) -> None:
        self._send(json.dumps(told).encode(), "application/json", status)

    def _go(self, where: str) -> None:
        self.send_response(302)
        self.send_header("Location", where)
        self.end_headers()

    def _send(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
