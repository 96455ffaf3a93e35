"""The failure rules of a user's ett.toml, checked: a mistake is named before anything is ingested.

Never trusts a pattern: the engine must take it, and an empty line must not match it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ingest.causes_rules import (
    INFORMATIONAL_RANK,
    SHIPPED,
    Kind,
    Pattern,
    Rule,
    RuleBook,
    in_ascii,
    of_xids,
    pattern_of,
    rank_of,
    shelved,
    shipped,
    shipped_attributions,
)
from ingest.errors import UnusableArguments

ATTRIBUTIONS = ("infra", "user", "scheduler", "service", "unknown")

_CATEGORY = re.compile(r"[a-z][a-z0-9_]*/[a-z][a-z0-9_]*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_NO_RULES = ("scheduler", "source", "none")  # what stands for a rule where none told the cause
_KEYS = {
    "name", "category", "attribution", "kind", "rank", "xids", "pattern", "patterns", "unless",
    "source",
}  # fmt: skip


def with_rules_of_user(tables: Sequence[Mapping[str, Any]], place: str = "ett.toml") -> RuleBook:
    """The shipped rules behind those of a user's `[[failure_rule]]` tables: those judge first.

    Raises UnusableArguments that names the rule and what is wrong with it.
    """
    if not tables:
        return shipped()
    own = tuple(_rule_of_user(table, f"{place}: failure_rule {number}")
                for number, table in enumerate(tables, start=1))  # fmt: skip
    names = [rule.name for rule in (*own, *shipped().rules)]
    for rule in own:
        if names.count(rule.name) > 1:
            raise UnusableArguments(f"{place}: there are two failure rules named {rule.name!r}.")
    told = {rule.category: rule.attribution for rule in own if rule.attribution}
    for rule in own:
        if rule.attribution and told[rule.category] != rule.attribution:
            raise UnusableArguments(
                f"{place}: failure_rule {rule.name!r} gives {rule.category} another attribution "
                f"than {told[rule.category]!r}."
            )
    return shelved(own, SHIPPED.read_bytes())


def _rule_of_user(table: Mapping[str, Any], place: str) -> Rule:
    if not isinstance(table, Mapping):
        raise UnusableArguments(f"{place} must be a table, as in [[failure_rule]].")
    unknown = sorted(table.keys() - _KEYS)
    if unknown:
        raise UnusableArguments(f"{place}: {unknown[0]!r} is no setting. Known: {sorted(_KEYS)}.")
    name = _text(table, "name", place)
    if not _NAME.fullmatch(name):
        raise UnusableArguments(f"{place}: name {name!r} must be a word such as our_nfs.")
    if name in _NO_RULES:
        raise UnusableArguments(
            f"{place}: name {name!r} is for causes that no rule told. Give it another."
        )
    place = f"{place} ({name})"
    category = _text(table, "category", place)
    if not _CATEGORY.fullmatch(category):
        raise UnusableArguments(
            f"{place}: category {category!r} must be domain/category, as in storage/disk_full."
        )
    kind = _kind(table, place)
    return Rule(
        name,
        category,
        kind,
        _own_rank(table, kind, category, place),
        _checked(_patterns(table, place), table.get("unless"), place),
        is_of_user=True,
        attribution=_attribution(table, category, place),
    )


def _text(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise UnusableArguments(f"{place}: {key} must be a text in quotes.")
    return value


def _kind(table: Mapping[str, Any], place: str) -> Kind:
    value = table.get("kind", Kind.INITIATING)
    if value not in tuple(Kind):
        raise UnusableArguments(f"{place}: kind {value!r} is none of {', '.join(Kind)}.")
    return Kind(value)


def _own_rank(table: Mapping[str, Any], kind: Kind, category: str, place: str) -> int:
    value = table.get("rank", rank_of(kind, category))
    if kind is Kind.INFORMATIONAL:
        return INFORMATIONAL_RANK
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < INFORMATIONAL_RANK:
        raise UnusableArguments(
            f"{place}: rank must be a whole number from 1 (a root) to 98 (a last resort)."
        )
    return value


def _attribution(table: Mapping[str, Any], category: str, place: str) -> str | None:
    value = table.get("attribution")
    known = shipped_attributions().get(category)
    if value is not None and value not in ATTRIBUTIONS:
        raise UnusableArguments(
            f"{place}: attribution {value!r} is none of {', '.join(ATTRIBUTIONS)}."
        )
    if known is None and value is None:
        raise UnusableArguments(
            f"{place}: {category} is a category of your own. Say its attribution, "
            f"one of {', '.join(ATTRIBUTIONS)}."
        )
    if known is not None and value not in (None, known):
        raise UnusableArguments(
            f"{place}: {category} is attributed to {known!r}. Leave attribution out, "
            "or give the failure a category of your own."
        )
    return value if known is None else None


def _patterns(table: Mapping[str, Any], place: str) -> list[str]:
    given = table.get("patterns", table.get("pattern", []))
    patterns = [given] if isinstance(given, str) else given
    xids = table.get("xids", [])
    if not isinstance(patterns, list) or not all(
        isinstance(pattern, str) and pattern for pattern in patterns
    ):
        raise UnusableArguments(f"{place}: patterns must be a list of texts in quotes.")
    if not isinstance(xids, list) or not all(type(number) is int for number in xids):
        raise UnusableArguments(f"{place}: xids must be a list of whole numbers.")
    if not patterns and not xids:
        raise UnusableArguments(f"{place}: give a pattern, patterns or xids.")
    return [*patterns, *of_xids(xids)]


def _checked(patterns: list[str], unless: object, place: str) -> Pattern:
    if unless is not None and not (isinstance(unless, str) and unless):
        raise UnusableArguments(f"{place}: unless must be a pattern in quotes.")
    for pattern in [*patterns, *([unless] if isinstance(unless, str) else [])]:
        _check(pattern, place)
    whole = pattern_of(patterns, unless if isinstance(unless, str) else None)
    _try(whole.matches, place, "all patterns together")
    return whole


def _check(pattern: str, place: str) -> None:
    if _try(f"(?m)(?:{in_ascii(pattern)})", place, repr(pattern)):
        raise UnusableArguments(
            f"{place}: {pattern!r} matches an empty line, so it would match every line."
        )


def _try(pattern: str, place: str, name: str) -> bool:
    """Whether a pattern matches an empty line. Raises UnusableArguments if it is no pattern."""
    try:
        return bool(pl.Series([""]).str.contains(pattern)[0])
    except pl.exceptions.ComputeError as error:
        why = str(error).partition("\n\nThis error occurred")[0].strip()
        hint = " Look-around is not supported: use unless." if "look-a" in why else ""
        raise UnusableArguments(f"{place}: {name} is no pattern: {why}.{hint}") from None
