"""The exporter's three paths over HTTP: /metrics, /-/healthy, /-/ready. Nothing else answers 200.

Serves what the follower keeps; never reads the warehouse. A slow or silent client holds its own
connection only, and that one not for long.
"""

from __future__ import annotations

import logging
import re
import socket
import socketserver
import ssl
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from app.monitoring.doors import Doors
from app.monitoring.follower import Follower
from app.monitoring.snapshot import exposition

_PLAIN = "text/plain; charset=utf-8"
_SILENCE_SECONDS = 5
_CONNECTION_SECONDS = 15
_CONNECTIONS = 64
_BODY_BYTES = 65536
# for who opens an answer in a browser; HSTS would bind every other port of this host as well
_SAFE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_ASKED = {
    HTTPStatus.METHOD_NOT_ALLOWED: {"Allow": "GET, HEAD"},
    HTTPStatus.UNAUTHORIZED: {"WWW-Authenticate": 'Basic realm="ett-exporter", charset="UTF-8"'},
}

_log = logging.getLogger(__name__)


class Server(ThreadingHTTPServer):
    """Listens once it is made. Raises OSError where the address is taken, forbidden or unknown."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _CONNECTIONS

    def __init__(
        self, host: str, port: int, follower: Follower, doors: Doors | None = None
    ) -> None:
        self.follower = follower
        self.doors = doors or Doors()
        self._opened: dict[socket.socket, float] = {}
        self._counting = threading.Lock()
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        self.address_family, address = found[0][0], found[0][4]
        super().__init__((str(address[0]), port), _Handler)

    def url(self) -> str:
        """Where it listens; the port is the one it was given where 0 was asked for."""
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        scheme = "https" if self.doors.is_encrypted else "http"
        return f"{scheme}://{host}:{self.server_port}/metrics"

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection, in TLS where that is asked for; its own thread shakes hands."""
        connection, address = super().get_request()
        try:
            return self.doors.around(connection), address
        except OSError:
            connection.close()
            raise

    def server_bind(self) -> None:
        """Bind, without http.server's look-up of the host's own name: it hangs without DNS."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection. With too many the oldest is hung up on: a newcomer is served."""
        with self._counting:
            oldest = next(iter(self._opened)) if len(self._opened) >= _CONNECTIONS else None
            self._opened[request] = time.monotonic()
        if oldest is not None:
            self._hang_up(oldest)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, however it ended."""
        with self._counting:
            self._opened.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Between requests: hang up on those who drip a request byte by byte."""
        limit = time.monotonic() - _CONNECTION_SECONDS
        with self._counting:
            overdue = [request for request, since in self._opened.items() if since < limit]
        for request in overdue:
            self._hang_up(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not news; anything else is a fault of this program."""
        if isinstance(sys.exc_info()[1], OSError):
            _log.debug("a client went away before its answer", exc_info=True)
        else:
            _log.exception("a request could not be answered")

    def _hang_up(self, request: socket.socket) -> None:
        with self._counting:
            self._opened.pop(request, None)
        with suppress(OSError):  # it may have ended just now
            # not TLS's own, which takes the connection from under the thread that serves it
            socket.socket.shutdown(request, socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = _SILENCE_SECONDS

    def setup(self) -> None:
        """Shake hands first, if there are any to shake; a silent client has so long for it."""
        if isinstance(self.request, ssl.SSLSocket):
            self.request.settimeout(_SILENCE_SECONDS)
            self.request.do_handshake()
        super().setup()

    def parse_request(self) -> bool:
        """Whether to go on with a request: who may not ask is told nothing but that."""
        if not super().parse_request():
            return False
        if self.server.doors.lets_in(self._header("Authorization")):
            return True
        self._say(HTTPStatus.UNAUTHORIZED, "A name and a password are needed here.")
        self._take_body()
        return False

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/metrics":
                self._metrics()
            case "/-/healthy":
                self._healthy()
            case "/-/ready":
                self._ready()
            case _:
                self._say(
                    HTTPStatus.NOT_FOUND,
                    "Nothing is here. The exporter answers /metrics, /-/healthy and /-/ready.",
                )

    do_HEAD = do_GET

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server finds wrong with a request, as one plain line."""
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._say(HTTPStatus.METHOD_NOT_ALLOWED, "Only GET and HEAD are answered.")
            self._take_body()
        else:
            self._say(HTTPStatus(code), f"{HTTPStatus(code).phrase}.")

    def version_string(self) -> str:
        return "ett-exporter"

    def log_message(self, format: str, *args: Any) -> None:
        _log.debug(format, *args)

    def _metrics(self) -> None:
        shown = exposition(self.server.follower.snapshot(), self._header("Accept"))
        if _takes_gzip(self._header("Accept-Encoding")):
            self._reply(
                HTTPStatus.OK, shown.gzipped, shown.content_type, {"Content-Encoding": "gzip"}
            )
        else:
            self._reply(HTTPStatus.OK, shown.body, shown.content_type)

    def _healthy(self) -> None:
        if self.server.follower.is_alive():
            self._say(HTTPStatus.OK, "The exporter is up.")
        else:
            self._say(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "New publishes are no longer followed. Restart the exporter.",
            )

    def _ready(self) -> None:
        problem = self.server.follower.snapshot().problem
        if problem:
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, problem)
        else:
            self._say(HTTPStatus.OK, "A warehouse is published.")

    def _say(self, status: HTTPStatus, sentence: str) -> None:
        self._reply(status, f"{sentence}\n".encode(), _PLAIN, _ASKED.get(status, {}))

    def _reply(
        self,
        status: HTTPStatus,
        body: bytes,
        content_type: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in {**_SAFE, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _take_body(self) -> None:
        # A body left unread would reset the connection, and the client would lose the answer.
        length = self._header("Content-Length")
        if length.isascii() and length.isdigit():
            with suppress(TimeoutError):
                self.rfile.read(min(int(length), _BODY_BYTES))

    def _header(self, name: str) -> str:
        return " ".join(str(self.headers.get(name, "")).split())


def _takes_gzip(accept_encoding: str) -> bool:
    offers = (offer.replace(" ", "").lower().partition(";") for offer in accept_encoding.split(","))
    return any(name == "gzip" and not re.fullmatch(r"q=0(\.0*)?", q) for name, _, q in offers)
