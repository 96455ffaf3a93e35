"""When an alert fires: the starting points, and what `[alerts]` of `ett.toml` says instead."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path

from queries.settings import unknown_setting


class UnusableSettings(ValueError):
    """`ett.toml` says something that no alert can be made from."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Ratios 0..1, hours, attempts. `dashboard_url` is where an alert's links lead.

    Its runbook is a page of the dashboard too, unless `runbook_url` names a folder of the pages in
    docs/runbooks.
    """

    dashboard_url: str = "http://127.0.0.1:8501"
    runbook_url: str = ""
    loss_burn_day: float = 2.0
    loss_burn_week: float = 1.3
    preemption_ratio: float = 0.2
    preemption_growth: float = 2.0
    preempted_attempts: float = 5
    unsaved_ratio: float = 0.03
    unaccounted_ratio: float = 0.05
    rejected_ratio: float = 0.02
    stale_hours: float = 26.0
    very_stale_hours: float = 50.0


_GROWTHS = frozenset({"loss_burn_day", "loss_burn_week", "preemption_growth"})


def read_thresholds(path: Path) -> Thresholds:
    """The thresholds of a settings file; no file means the starting points.

    Raises UnusableSettings naming the setting.
    """
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Thresholds()
    except (OSError, ValueError, RecursionError) as error:  # also what is no UTF-8, or no TOML
        raise UnusableSettings(f"{path} cannot be read: {error}") from None
    if unknown := unknown_setting(told):
        raise UnusableSettings(f"{path}: {unknown}")
    table = told.get("alerts", {})
    if not isinstance(table, dict):
        raise UnusableSettings(f"{path}: alerts must be a table, as in [alerts].")
    for name, value in table.items():
        _check(path, name, value)
    limits = replace(Thresholds(), **table)
    if limits.stale_hours >= limits.very_stale_hours:
        raise UnusableSettings(
            f"{path}: alerts.stale_hours, {limits.stale_hours}, must be below "
            f"alerts.very_stale_hours, {limits.very_stale_hours}."
        )
    return limits


def _check(path: Path, name: str, value: object) -> None:
    known = {field.name: field.default for field in fields(Thresholds)}
    if name not in known:
        raise UnusableSettings(f"{path}: alerts.{name} is no setting. Known: {sorted(known)}.")
    if isinstance(known[name], str):
        if not isinstance(value, str) or not value.startswith(("http://", "https://")):
            raise UnusableSettings(f"{path}: alerts.{name} must be an address such as https://ett.")
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UnusableSettings(f"{path}: alerts.{name} must be a number above 0.")
    elif name in _GROWTHS and value < 1:
        raise UnusableSettings(f"{path}: alerts.{name} must be 1 or more: so many times as much.")
    elif name.endswith("_ratio") and value > 1:  # a percentage would silence the alert for good
        raise UnusableSettings(f"{path}: alerts.{name} must be a ratio, 1 at most, such as 0.05.")
