"""The rules that name causes, as failures.toml has them: what a rule is, and how rules compete.

Matches no line, and reads no user's configuration.
"""

from __future__ import annotations

import csv
import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import queries
from ingest.causes_literals import required

SHIPPED = Path(__file__).with_name("failures.toml")

INFORMATIONAL_RANK = 99  # never a cause: what chooses one must leave it out

_RANKS = {
    "scheduler": 10,
    "gpu_hardware": 10,
    "host": 20,
    "network": 30,
    "storage": 40,
    "service": 55,
    "data": 60,
    "user_code": 60,
}
_RANK_OF_OTHERS = 65
_CASCADE_RANK = 75
_XIDS = r"\bXid\b(?: \([^)]{1,60}\))?[ :=]{0,3}(?:%s)\b"
_ASCII = {
    "b": r"(?-u:\b)",
    "B": r"(?-u:\B)",
    "d": "[0-9]",
    "D": "[^0-9]",
    "s": r"[\t-\r ]",
    "S": r"[^\t-\r ]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
}


class Kind(StrEnum):
    """What a rule's line can be: a root, a consequence, or nothing to worry about."""

    INITIATING = "initiating"
    CASCADE = "cascade"
    INFORMATIONAL = "informational"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a line must match and must not. `words`: a matching line holds one of them; None: no
    word is sure.
    """

    matches: str
    unless: str | None
    words: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A named pattern and the category it proves. The least `rank` of an attempt's lines wins.

    `attribution` is set only where the category is not one of queries/failure_categories.csv.
    """

    name: str
    category: str
    kind: Kind
    rank: int
    pattern: Pattern
    is_of_user: bool = False
    attribution: str | None = None


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rules, of which the first that matches a line judges it, and the lines that are nothing.

    `words`: a line without any of them matches no rule. None: every line must be looked at.
    `unexplaining` rules say that something was raised, not what it means: their messages are among
    those that want a rule.
    `fingerprint` changes when an answer could: what was classified before is then out of date.
    """

    rules: tuple[Rule, ...]
    ignored: tuple[Pattern, ...]
    words: tuple[str, ...] | None
    unexplaining: frozenset[str]
    fingerprint: str

    @property
    def attributions(self) -> dict[str, str]:
        """The attribution of every category that the shipped table does not have."""
        return {rule.category: rule.attribution for rule in self.rules if rule.attribution}


@cache
def shipped() -> RuleBook:
    """The rules of failures.toml."""
    return shelved((), SHIPPED.read_bytes())


@cache
def shipped_attributions() -> dict[str, str]:
    """category -> attribution, of queries/failure_categories.csv."""
    file = Path(queries.__file__).with_name("failure_categories.csv")
    with file.open(encoding="utf-8", newline="") as rows:
        return {f"{row['domain']}/{row['category']}": row["attribution"]
                for row in csv.DictReader(rows)}  # fmt: skip


def shelved(own: tuple[Rule, ...], text: bytes) -> RuleBook:
    """The rules of a text like failures.toml behind those of a user."""
    table = tomllib.loads(text.decode("utf-8"))
    rules = (*own, *(_rule(entry) for entry in table["rule"]))
    ignored = tuple(pattern_of(entry["patterns"], entry.get("unless")) for entry in table["ignore"])
    said = "".join(map(_said, own)).encode("utf-8")
    fingerprint = hashlib.sha256(text + said + _judges()).hexdigest()
    unexplaining = frozenset(
        entry["name"] for entry in table["rule"] if not entry.get("explains", True)
    )
    return RuleBook(rules, ignored, _words_of(rules), unexplaining, fingerprint)


@cache
def _judges() -> bytes:
    """The code that judges: what numbers mean stands there, and which of two causes goes before."""
    return b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("causes*.py")))


def _said(rule: Rule) -> str:
    pattern = rule.pattern
    return repr((
        rule.name, rule.category, rule.kind.value, rule.rank, rule.attribution, pattern.matches,
        pattern.unless,
    ))  # fmt: skip


def _words_of(rules: Sequence[Rule]) -> tuple[str, ...] | None:
    words: set[str] = set()
    for rule in rules:
        if rule.pattern.words is None:
            return None
        words |= rule.pattern.words
    return tuple(sorted(words))


def _rule(entry: Mapping[str, Any]) -> Rule:
    kind = Kind(entry["kind"])
    patterns = [*entry["patterns"], *of_xids(entry.get("xids", ()))]
    return Rule(
        entry["name"],
        entry["category"],
        kind,
        entry.get("rank", rank_of(kind, entry["category"])),
        pattern_of(patterns, entry.get("unless")),
    )


def rank_of(kind: Kind, category: str) -> int:
    """How near to the root a rule stands that does not say so itself."""
    if kind is Kind.INFORMATIONAL:
        return INFORMATIONAL_RANK
    if kind is Kind.CASCADE:
        return _CASCADE_RANK
    return _RANKS.get(category.partition("/")[0], _RANK_OF_OTHERS)


def of_xids(numbers: Sequence[int]) -> list[str]:
    """The pattern of NVIDIA Xid errors with these numbers."""
    return [_XIDS % "|".join(map(str, numbers))] if numbers else []


def pattern_of(patterns: Sequence[str], unless: str | None) -> Pattern:
    """Any of these patterns, as the engine takes it."""
    words: set[str] | None = set()
    for pattern in patterns:
        found = required(pattern)
        words = None if found is None or words is None else words | found
    joined = "|".join(f"(?:{in_ascii(pattern)})" for pattern in patterns)
    return Pattern(
        f"(?m){joined}",
        None if unless is None else f"(?m){in_ascii(unless)}",
        None if words is None else frozenset(words),
    )


def in_ascii(pattern: str) -> str:
    r"""With \b, \d, \s and \w of ASCII: those of Unicode cost the engine its fast path."""
    return re.sub(r"\\(.)", lambda escape: _ASCII.get(escape[1], escape[0]), pattern, flags=re.S)
