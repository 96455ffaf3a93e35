"""Who may read the dashboard: `[auth]` of `ett.toml`, held against what a provider says of someone.

Knows neither streamlit nor the warehouse. Without `[auth]` whoever reaches the dashboard may.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from queries.settings import unknown_setting

SIGNED_IN_FOR: Final = timedelta(hours=24)  # a cookie alone would let in for 30 days who has left
_KEYS: Final = ("domains", "addresses", "groups", "secrets")
_PROVIDER: Final = (
    "redirect_uri",
    "cookie_secret",
    "client_id",
    "client_secret",
    "server_metadata_url",
)
_SHORTEST_SECRET: Final = 32
# what is no such name, as a pattern (*.example.org) or one with a blank, would let in nobody
_DOMAIN: Final = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_ADDRESS: Final = re.compile(rf"[!-)+-?A-~]+@{_DOMAIN.pattern}")  # no blank, *, or second @
_PLACE: Final = re.compile(r"\(at line \d+, column \d+\)\Z")
LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


class UnusableAuth(ValueError):
    """Names the file, the setting and what would be right."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who is let in: by mail domain, mail address or group. `secrets` is what streamlit reads."""

    domains: frozenset[str]
    addresses: frozenset[str]
    groups: frozenset[str]
    secrets: Path


class Verdict(Enum):
    """Whether someone may read, and if not, why."""

    WELCOME = "may read"
    UNKNOWN = "has not signed in"
    EXPIRED = "signed in too long ago"
    UNCONFIRMED = "has an address that the provider has not confirmed"
    STRANGER = "is on no list"


def read_readers(path: Path) -> Readers | None:
    """`[auth]` of a settings file; None where there is no file, or none in it.

    Raises UnusableAuth: a list that cannot be read must not let everybody in. A link to a file that
    is not there is one.
    """
    try:
        told = _read(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise UnusableAuth(f"{path} is a link that leads nowhere.") from None
        return None
    if unknown_name := unknown_setting(told):
        raise UnusableAuth(f"{path}: {unknown_name}")
    table = _auth(path, told)
    if table is None:
        return None
    unknown = sorted(table.keys() - set(_KEYS))
    if unknown:
        raise UnusableAuth(f"{path}: auth.{unknown[0]} is no setting. Known: {', '.join(_KEYS)}.")
    domains, addresses = (_names(path, table, name) for name in ("domains", "addresses"))
    groups = _names(path, table, "groups")
    if not domains and not addresses and not groups:
        raise UnusableAuth(f"{path}: [auth] lets nobody in. Give domains, addresses or groups.")
    for name in domains:
        if not _DOMAIN.fullmatch(name):
            raise UnusableAuth(f"{path}: auth.domains: {name!r} must be such as example.org.")
    for name in addresses:
        if not _ADDRESS.fullmatch(name):
            raise UnusableAuth(f"{path}: auth.addresses: {name!r} must be such as ann@example.org.")
    secrets = table.get("secrets", "secrets.toml")
    if not isinstance(secrets, str) or not secrets or "\0" in secrets:
        raise UnusableAuth(f"{path}: auth.secrets must name streamlit's secrets.toml.")
    return Readers(
        frozenset(map(str.lower, domains)),
        frozenset(map(str.lower, addresses)),
        frozenset(groups),
        path.resolve().parent / secrets,
    )


def provider(secrets: Path) -> dict[str, str]:
    """What streamlit's secrets say of the provider.

    Raises UnusableAuth, without a secret in it, where nobody could sign in, or not safely.
    """
    try:
        table = _auth(secrets, _read(secrets))
    except FileNotFoundError:
        raise UnusableAuth(f"{secrets} is not there: streamlit's secrets, with [auth].") from None
    if table is None:
        raise UnusableAuth(f"{secrets} has no [auth] with {', '.join(_PROVIDER)}.")
    for name in _PROVIDER:
        if not isinstance(table.get(name), str) or not table[name]:
            raise UnusableAuth(f"{secrets}: auth.{name} is missing, or no text.")
    if not table["redirect_uri"].endswith("/oauth2callback"):
        raise UnusableAuth(f"{secrets}: auth.redirect_uri must end with /oauth2callback.")
    if len(table["cookie_secret"]) < _SHORTEST_SECRET:
        raise UnusableAuth(
            f"{secrets}: auth.cookie_secret is shorter than {_SHORTEST_SECRET} characters. "
            'Make one: python3 -c "import secrets; print(secrets.token_hex(32))"'
        )
    for name in ("redirect_uri", "server_metadata_url"):
        try:
            url = urlsplit(table[name].replace("{port}", "1"))  # streamlit puts in its own
            _ = url.port
        except ValueError:
            raise UnusableAuth(f"{secrets}: auth.{name} is no address.") from None
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in LOOPBACK):
            raise UnusableAuth(f"{secrets}: auth.{name} must begin with https://.")
    return table


def judged(readers: Readers, claims: Mapping[str, Any], now: datetime) -> Verdict:
    """Whether someone of whom the provider says this may read. `now` is aware.

    Groups count as the provider tells them. An address counts only if the provider says that it is
    confirmed: elsewhere anyone may write any address into a profile.
    """
    if claims.get("is_logged_in") is not True:
        return Verdict.UNKNOWN
    signed_in = claims.get("iat")
    if isinstance(signed_in, bool) or not isinstance(signed_in, int | float):
        return Verdict.EXPIRED
    if not signed_in > now.timestamp() - SIGNED_IN_FOR.total_seconds():
        return Verdict.EXPIRED
    told = claims.get("groups")
    groups = {told} if isinstance(told, str) else set(filter(_is_text, _listed(told)))
    if groups & readers.groups:
        return Verdict.WELCOME
    address = claims.get("email")
    # lower() makes other letters ASCII: a kelvin sign a k
    if not isinstance(address, str) or not address.isascii() or address.count("@") != 1:
        return Verdict.STRANGER
    address = address.lower()
    if address not in readers.addresses and address.partition("@")[2] not in readers.domains:
        return Verdict.STRANGER
    return Verdict.WELCOME if claims.get("email_verified") is True else Verdict.UNCONFIRMED


def _read(path: Path) -> dict[str, Any]:
    """Raises FileNotFoundError, and UnusableAuth."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    # of what the parser says only the place: it may quote the line, and with it a secret
    except (OSError, ValueError, RecursionError) as error:
        place = _PLACE.search(str(error))
        no_toml = f"it is no TOML in UTF-8{f' {place[0]}' if place else ''}"
        why = error.strerror if isinstance(error, OSError) else no_toml
        raise UnusableAuth(f"{path} cannot be read: {why}.") from None


def _auth(path: Path, told: dict[str, Any]) -> dict[str, Any] | None:
    value = told.get("auth")
    if value is not None and not isinstance(value, dict):
        raise UnusableAuth(f"{path}: auth must be a table, as in [auth].")
    return value


def _names(path: Path, table: dict[str, Any], name: str) -> list[str]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(_is_text(each) and each.strip() for each in value):
        raise UnusableAuth(f"{path}: auth.{name} must be a list of texts in quotes.")
    return value


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str)
