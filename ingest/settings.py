"""The settings of `ett.toml`, checked. Every one has a default; the file is optional."""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from ingest import calendar, identity, places
from ingest.causes_own import with_rules_of_user
from ingest.causes_rules import RuleBook, shipped
from ingest.collectors.training_log_patterns import Pattern, patterns_of
from ingest.dumps import UNPACKED_RATIO
from ingest.errors import UnusableArguments
from ingest.warehouse import Storage
from queries.regressions import Settings as DetectionSettings
from queries.settings import unknown_setting

_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) ?([KMGT]i?B)")
_UNITS = {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)} | {
    f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)
}
_MOST_SLA_DAYS = 3650  # far past what could be an agreement, and small enough for every engine
_LEAST_MEMORY = 256 * 1024 * 1024  # below, the engine cannot even sort a batch


@dataclass(frozen=True, slots=True)
class Settings:
    """What an installation decides. `targets` are ratios by team, `fleet` is the default."""

    timezone: str = "UTC"
    stale_after: timedelta = timedelta(hours=6)
    targets: dict[str, float] = field(default_factory=lambda: {"fleet": 0.9})
    excluded_partitions: tuple[str, ...] = ()
    excluded_names: tuple[str, ...] = ()
    gpu_hour_price: float | None = None
    currency: str | None = None
    identity: tuple[identity.IdentityRule, ...] = ()
    training_logs: tuple[Pattern, ...] = ()
    failure_rules: RuleBook = field(default_factory=shipped)
    detection: DetectionSettings = field(default_factory=DetectionSettings)
    unpacked_ratio: float = UNPACKED_RATIO
    storage: Storage = field(default_factory=Storage)
    publish_every: timedelta = timedelta(seconds=15)  # at the most, while watching


def as_text(settings: Settings) -> str:
    """What facts were computed under, as one text that is equal where it is.

    How dumps are read is not in it: what was read stays as it was. Nor is what the engine may take.
    """
    told = {
        "timezone": settings.timezone,
        "stale_after": settings.stale_after,
        "targets": settings.targets,
        "gpu_hour_price": settings.gpu_hour_price,
        "currency": settings.currency,
        "detection": asdict(settings.detection),
        "excluded_partitions": settings.excluded_partitions,
        "excluded_names": settings.excluded_names,
        "failure_rules": settings.failure_rules.fingerprint,
    }
    return json.dumps(told, sort_keys=True, default=str)


def found_settings() -> Settings:
    """Those of the file that ETT_CONFIG names, which must be there, else of ./ett.toml."""
    return read_settings(places.config())


def read_settings(path: Path) -> Settings:
    """Read `ett.toml`; no file means the defaults. Raises UnusableArguments naming the setting."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, RecursionError) as error:  # also what is no UTF-8, or no TOML
        raise UnusableArguments(f"{path} cannot be read: {error}") from None
    if unknown := unknown_setting(table):
        raise UnusableArguments(f"{path}: {unknown}")
    exclude = _table(path, table, "exclude")
    _check_names(path, "exclude", exclude, {"partitions", "names"})
    price = _price(path, _table(path, table, "price"))
    return Settings(
        timezone=_timezone(path, table.get("timezone", "UTC")),
        stale_after=_hours(path, table.get("stale_after_hours", 6)),
        unpacked_ratio=_ratio(path, table.get("unpacked_ratio", UNPACKED_RATIO)),
        targets=_targets(path, _table(path, table, "targets")),
        excluded_partitions=_patterns(path, exclude, "partitions"),
        excluded_names=_patterns(path, exclude, "names"),
        gpu_hour_price=price[0],
        currency=price[1],
        detection=_detection(path, _table(path, table, "regressions")),
        identity=_identity(path, table.get("identity", [])),
        training_logs=_training_logs(path, table.get("training_log", [])),
        failure_rules=_failure_rules(path, table.get("failure_rule", [])),
        storage=_storage(path, _table(path, table, "storage")),
        publish_every=_seconds(path, table.get("publish_every", 15)),
    )


def like_pattern(glob: str) -> str:
    """A shell pattern (`*`, `?`) as an SQL LIKE pattern with backslash as escape."""
    escaped = glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


def _table(path: Path, table: dict[str, Any], name: str) -> dict[str, Any]:
    value = table.get(name, {})
    if not isinstance(value, dict):
        raise UnusableArguments(f"{path}: {name} must be a table, as in [{name}].")
    return value


def _check_names(path: Path, name: str, table: dict[str, Any], known: AbstractSet[str]) -> None:
    if unknown := sorted(table.keys() - known):
        raise UnusableArguments(
            f"{path}: {name}.{unknown[0]} is no setting. Known: {sorted(known)}."
        )


def _timezone(path: Path, name: object) -> str:
    if (zone := calendar.zone_of(str(name))) is None:
        raise UnusableArguments(
            f"{path}: timezone {name!r} is not known. Give an IANA name such as Europe/Berlin."
        )
    return zone.key


def _hours(path: Path, value: object) -> timedelta:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 1 / 3600 <= value <= 24 * 365
    ):
        raise UnusableArguments(
            f"{path}: stale_after_hours must be a number of hours, a second at the least and 8760 "
            "(a year) at the most."
        )
    return timedelta(hours=value)


def _ratio(path: Path, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < 10**9:
        raise UnusableArguments(
            f"{path}: unpacked_ratio must be a number, 1 at the least, such as 200."
        )
    return float(value)


def _seconds(path: Path, value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        raise UnusableArguments(
            f"{path}: publish_every must be a number of seconds above 0, 86400 (a day) at most."
        )
    return timedelta(seconds=value)


def _targets(path: Path, table: dict[str, Any]) -> dict[str, float]:
    targets = {"fleet": 0.9}
    for team, ratio in table.items():
        if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio <= 1:
            raise UnusableArguments(f"{path}: the target of {team!r} must be a ratio such as 0.9.")
        # the rollups' own name for small teams: who is really called so is told apart there too
        targets["other (team)" if team == "other" else team] = float(ratio)
    return targets


def _patterns(path: Path, table: dict[str, Any], name: str) -> tuple[str, ...]:
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise UnusableArguments(f"{path}: exclude.{name} must be a list of patterns in quotes.")
    return tuple(value)


def _price(path: Path, table: dict[str, Any]) -> tuple[float | None, str | None]:
    if not table:
        return None, None
    _check_names(path, "price", table, {"gpu_hour", "currency"})
    price, currency = table.get("gpu_hour"), table.get("currency", "USD")
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 < price < 1e12:
        raise UnusableArguments(f"{path}: price.gpu_hour must be a number above 0.")
    if not isinstance(currency, str) or not 0 < len(currency) <= 8:
        raise UnusableArguments(f"{path}: price.currency must be a short text such as EUR.")
    return float(price), currency


def _storage(path: Path, table: dict[str, Any]) -> Storage:
    _check_names(path, "storage", table, {"memory_limit", "temp_directory"})
    limit = table.get("memory_limit", "2GiB")
    told = _SIZE.fullmatch(limit) if isinstance(limit, str) else None
    memory = int(float(told[1]) * _UNITS[told[2]]) if told else 0
    if memory < _LEAST_MEMORY:
        raise UnusableArguments(
            f"{path}: storage.memory_limit must be a size of 256MiB or more, such as 4GiB."
        )
    folder = table.get("temp_directory")
    if folder is not None and (not isinstance(folder, str) or not folder.strip()):
        raise UnusableArguments(f"{path}: storage.temp_directory must be a folder in quotes.")
    if folder is not None and "\0" in folder:
        raise UnusableArguments(
            f"{path}: storage.temp_directory has a NUL (\\u0000), which no folder's name can have."
        )
    if folder is None:
        return Storage(memory)
    return Storage(memory, path.resolve().parent / os.path.expanduser(folder))


def _detection(path: Path, table: dict[str, Any]) -> DetectionSettings:
    known = asdict(DetectionSettings())
    _check_names(path, "regressions", table, known.keys())
    for name, value in table.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            raise UnusableArguments(f"{path}: regressions.{name} must be a number above 0.")
    told = known | table
    sla_days = told["sla_days"]
    if sla_days != int(sla_days) or sla_days > _MOST_SLA_DAYS:
        raise UnusableArguments(
            f"{path}: regressions.sla_days must be a whole number of days, "
            f"{_MOST_SLA_DAYS} at most."
        )
    if told["ticket_gpu_hours"] > told["page_gpu_hours"]:  # what is worth a page would be info
        raise UnusableArguments(
            f"{path}: regressions.ticket_gpu_hours, {told['ticket_gpu_hours']}, must not be above "
            f"regressions.page_gpu_hours, {told['page_gpu_hours']}."
        )
    return DetectionSettings(**{**told, "sla_days": int(sla_days)})


def _training_logs(path: Path, value: object) -> tuple[Pattern, ...]:
    if not isinstance(value, list):
        raise UnusableArguments(f"{path}: training_log must be tables, as in [[training_log]].")
    return patterns_of(value, str(path))


def _failure_rules(path: Path, value: object) -> RuleBook:
    if not isinstance(value, list):
        raise UnusableArguments(f"{path}: failure_rule must be tables, as in [[failure_rule]].")
    return with_rules_of_user(value, str(path))


def _identity(path: Path, value: object) -> tuple[identity.IdentityRule, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UnusableArguments(f"{path}: identity must be a list of tables, as in [[identity]].")
    rules = []
    for number, entry in enumerate(value, 1):
        if len(entry) != 1 or not entry.keys() <= set(identity.LOOKED_AT):
            raise UnusableArguments(
                f"{path}: identity rule {number} must have one of {', '.join(identity.LOOKED_AT)}, "
                f"not {', '.join(entry) or 'nothing'}."
            )
        [(looks_at, pattern)] = entry.items()
        if not isinstance(pattern, str):
            raise UnusableArguments(f"{path}: identity rule {number} must be a pattern in quotes.")
        rule = identity.IdentityRule(looks_at, pattern)
        if problem := identity.problem_of(rule):
            raise UnusableArguments(f"{path}: identity rule {number}: {problem}.")
        rules.append(rule)
    return tuple(rules)
