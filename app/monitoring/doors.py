"""Who the exporter answers, as `--web-config` says: TLS first, then passwords.

A certificate, a key or a list of users that is replaced counts for the next connection. What cannot
be used, and what would open a door that is shut, is logged instead: the file may be half written.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import secrets
import socket
import ssl
import threading
from pathlib import Path
from typing import Final

import bcrypt

from app.monitoring.web_config import (
    Tls,
    UnusableWebConfig,
    WebConfig,
    read_web_config,
    tls_context,
)

_MOST_REMEMBERED: Final = 100
_LONGEST_PASSWORD: Final = 72  # bytes; bcrypt takes no more

_log = logging.getLogger(__name__)


class Doors:
    """What a web config says, for every connection. Raises UnusableWebConfig when it is made."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._config, self._context = _opened(path)
        self._seen = self._stamp()
        self._changing = threading.Lock()
        self._checking = threading.Lock()  # a comparison costs a core: one at a time
        self._key = secrets.token_bytes(32)
        self._known: dict[bytes, None] = {}
        # compared with where a name is not known, so that the answer takes as long
        self._nobody = bcrypt.hashpw(secrets.token_bytes(16), bcrypt.gensalt(_cost(self._config)))

    @property
    def is_encrypted(self) -> bool:
        """Whether connections are TLS."""
        return self._context is not None

    @property
    def asks_who(self) -> bool:
        """Whether clients must say a password or show a certificate."""
        tls = self._config.tls
        return bool(self._config.users) or (tls is not None and tls.clients == ssl.CERT_REQUIRED)

    def around(self, connection: socket.socket) -> socket.socket:
        """The connection in TLS, if there is any. Shakes no hands yet: that may wait for a client.

        Raises OSError where the client is gone already.
        """
        self._follow()
        if self._context is None:
            return connection
        return self._context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False
        )

    def lets_in(self, authorization: str) -> bool:
        """Whether a request with this header may be answered."""
        users = self._config.users
        if users is None:
            return True
        name, password = _said(authorization)
        expected = users.get(name, self._nobody)
        # remembered by a keyed digest: neither a password nor its plain hash stays in memory
        proof = hmac.digest(self._key, b"\0".join((expected, password)), hashlib.sha256)
        if name in users and proof in self._known:
            return True
        with self._checking:
            fits = bcrypt.checkpw(password[:_LONGEST_PASSWORD], expected)
            if not fits or name not in users or len(password) > _LONGEST_PASSWORD:
                return False
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[proof] = None
        return True

    def _follow(self) -> None:
        if self._path is None:
            return
        with self._changing:
            stamp = self._stamp()
            if stamp == self._seen:
                return
            self._seen = stamp
            try:
                self._config, self._context = self._no_wider(*_opened(self._path))
            except UnusableWebConfig as refusal:
                _log.error("%s What was read before stays.", refusal)
            else:
                self._seen = self._stamp()
                _log.info("read %s again", self._path)

    def _no_wider(
        self, config: WebConfig, context: ssl.SSLContext | None
    ) -> tuple[WebConfig, ssl.SSLContext | None]:
        if (self._config.users and not config.users) or _is_less(config.tls, self._config.tls):
            raise UnusableWebConfig(
                f"{self._path} asks for less than before: restart ett-exporter if that is meant."
            )
        return config, context

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        tls = self._config.tls
        files = (tls.cert_file, tls.key_file, tls.client_ca_file) if tls else ()
        return tuple(_stamp_of(file) for file in (self._path, *files) if file is not None)


def _opened(path: Path | None) -> tuple[WebConfig, ssl.SSLContext | None]:
    if path is None:
        return WebConfig(), None
    config = read_web_config(path)
    return config, tls_context(path, config.tls) if config.tls else None


def _is_less(tls: Tls | None, before: Tls | None) -> bool:
    """Whether it asks a client for less: no TLS, an older one, or no certificate of its own."""
    if before is None:
        return False
    return tls is None or tls.clients < before.clients or tls.min_version < before.min_version


def _cost(config: WebConfig) -> int:
    """The rounds that the hashes ask for, the most of them; the least there is without any."""
    return max((int(kept[4:6]) for kept in (config.users or {}).values()), default=4)


def _stamp_of(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _said(authorization: str) -> tuple[str, bytes]:
    """Name and password of a header; empty where it is not of basic auth."""
    scheme, _, packed = authorization.partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        name, _, password = base64.b64decode(packed.strip(), validate=True).partition(b":")
        return name.decode(), password
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return "", b""
