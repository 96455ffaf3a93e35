"""The exporter's `--web-config`: TLS and basic auth, in the file format of Prometheus' exporters.

The format is that of the exporter-toolkit: `tls_server_config` and `basic_auth_users`. What is not
done here is refused with its name, never passed over: a door that is thought shut must be shut.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

_TLS: Final = "tls_server_config"
_USERS: Final = "basic_auth_users"
_TLS_KEYS: Final = ("cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version")
_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_HASH: Final = re.compile(r"\$2[aby]\$(?:0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")

T = TypeVar("T")


class UnusableWebConfig(ValueError):
    """Names the file, the key and what would be right."""


class _EachKeyOnce(yaml.SafeLoader):
    """Refuses what is told twice: of two passwords of one name only the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set()
        for key, _ in node.value:
            if key.value in known:
                raise yaml.constructor.ConstructorError(
                    problem=f"{key.value} is told twice", problem_mark=key.start_mark
                )
            known.add(key.value)
        return super().construct_mapping(node, deep)


@dataclass(frozen=True, slots=True)
class Tls:
    """Files are absolute; `clients` says which certificates clients must show."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None
    clients: ssl.VerifyMode
    min_version: ssl.TLSVersion


@dataclass(frozen=True, slots=True)
class WebConfig:
    """`users` are bcrypt hashes by name. Without TLS and users all are served, in the clear."""

    tls: Tls | None = None
    users: Mapping[str, bytes] | None = None


def read_web_config(path: Path) -> WebConfig:
    """Read the file; relative paths in it start from its folder. Raises UnusableWebConfig."""
    try:
        table = _EachKeyOnce(path.read_text(encoding="utf-8")).get_single_data()
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError, ValueError) as error:
        raise UnusableWebConfig(f"{path} cannot be read: {_in_one_line(error)}") from None
    if not isinstance(table, dict) or not table:
        raise UnusableWebConfig(f"{path} must have {_TLS}, {_USERS} or both.")
    _refuse_unknown(path, table, (_TLS, _USERS), "")
    return WebConfig(
        _tls(path, _table(path, table, _TLS)) if _TLS in table else None,
        _users(path, _table(path, table, _USERS)) if _USERS in table else None,
    )


def tls_context(path: Path, tls: Tls) -> ssl.SSLContext:
    """What connections are wrapped in. Raises UnusableWebConfig where a file does not fit."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = tls.min_version
    context.verify_mode = tls.clients
    try:
        # a key that needs a pass phrase would else ask the terminal for it
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
    except (OSError, ValueError) as error:
        raise UnusableWebConfig(
            f"{path}: {_TLS}.cert_file or key_file cannot be used: {_in_one_line(error)}. "
            "Give a certificate and its own key, both PEM, the key without a pass phrase."
        ) from None
    if tls.client_ca_file is not None:
        try:
            context.load_verify_locations(tls.client_ca_file)
        except (OSError, ValueError) as error:
            raise UnusableWebConfig(
                f"{path}: {_TLS}.client_ca_file cannot be used: {_in_one_line(error)}."
            ) from None
    return context


def _tls(path: Path, table: dict[str, Any]) -> Tls:
    _refuse_unknown(path, table, _TLS_KEYS, f"{_TLS}.")
    clients = _choice(path, table, "client_auth_type", _CLIENTS, "NoClientCert")
    authority = _file(path, table, "client_ca_file") if "client_ca_file" in table else None
    if (authority is None) != (clients == ssl.CERT_NONE):
        raise UnusableWebConfig(
            f"{path}: {_TLS}.client_ca_file goes with a client_auth_type that verifies, and a "
            "client_auth_type that verifies with it."
        )
    return Tls(
        _file(path, table, "cert_file"),
        _file(path, table, "key_file"),
        authority,
        clients,
        _choice(path, table, "min_version", _VERSIONS, "TLS12"),
    )


def _users(path: Path, table: dict[str, Any]) -> dict[str, bytes]:
    if not table:
        raise UnusableWebConfig(f"{path}: {_USERS} names nobody. Leave it out, or name one.")
    for name, value in table.items():
        if not isinstance(name, str) or not name or ":" in name:
            raise UnusableWebConfig(f"{path}: {_USERS}: {name!r} must be a name without a colon.")
        if not isinstance(value, str) or not _HASH.fullmatch(value):
            # the value is not shown: it may be the password itself
            raise UnusableWebConfig(
                f"{path}: {_USERS}.{name} must be the password's bcrypt hash, such as "
                "`htpasswd -nBC 10 USER` prints it behind the colon, in quotes."
            )
    return {name: value.encode() for name, value in table.items()}


def _table(path: Path, table: dict[str, Any], name: str) -> dict[str, Any]:
    value = table[name]
    if not isinstance(value, dict):
        raise UnusableWebConfig(f"{path}: {name} must have keys below it.")
    return value


def _file(path: Path, table: dict[str, Any], name: str) -> Path:
    value = table.get(name)
    if not isinstance(value, str) or not value or "\0" in value:
        raise UnusableWebConfig(f"{path}: {_TLS}.{name} must name a file.")
    return path.resolve().parent / value


def _choice(
    path: Path, table: dict[str, Any], name: str, known: Mapping[str, T], default: str
) -> T:
    value = table.get(name, default)
    if not isinstance(value, str) or value not in known:
        raise UnusableWebConfig(
            f"{path}: {_TLS}.{name} {value!r} is not offered. Known: {', '.join(known)}."
        )
    return known[value]


def _refuse_unknown(path: Path, table: dict[str, Any], known: tuple[str, ...], prefix: str) -> None:
    unknown = [str(name) for name in table if name not in known]
    if unknown:
        raise UnusableWebConfig(
            f"{path}: {prefix}{unknown[0]} is no setting of ett-exporter. "
            f"Known: {', '.join(known)}."
        )


def _in_one_line(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem and error.problem_mark:
        # its own words show the line, in which a password may be
        return f"line {error.problem_mark.line + 1}: {error.problem}"
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(told.split())
