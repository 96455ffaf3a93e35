"""The words without which a pattern cannot match: they spare a long log most of its patterns.

Reads a pattern only as far as it must, and says that it needs no word where it is not sure. Never
matches a pattern itself.
"""

from __future__ import annotations

import re

SHORTEST = 3  # a shorter word stands on every other line
# these stand on every line of progress, however long they are
COMMON = frozenset({"loss", "grad", "norm", "sample", "size", "node"})

_REPEAT = re.compile(r"(?:([*+?])|\{(\d*),?\d*\})\??")
_OPENED = re.compile(r"\((?:\?(?:P?<\w+>|[isu-]*:))?(?!\?)")
_FLAGS = re.compile(r"\(\?[isu-]+\)")
_NO_LETTER = re.compile(r"\\[^\w]|[^\\.^$*+?{}()\[\]|]")

_Words = frozenset[str]


class _Unsure(Exception):
    """The pattern uses something that is not read here."""


def required(pattern: str) -> frozenset[str] | None:
    """Words in lower case of which every match contains one. None: it may match without any."""
    try:
        words, at = _alternatives(pattern, 0)
    except (_Unsure, IndexError):
        return None
    return words if at == len(pattern) else None


def _alternatives(pattern: str, at: int) -> tuple[_Words | None, int]:
    """Any of the branches may match: a word of each."""
    branches: list[_Words | None] = []
    while True:
        words, at = _sequence(pattern, at)
        branches.append(words)
        if at == len(pattern) or pattern[at] == ")":
            break
        at += 1
    known = [words for words in branches if words is not None]
    return (frozenset().union(*known) if len(known) == len(branches) else None), at


def _sequence(pattern: str, at: int) -> tuple[_Words | None, int]:
    """All of its parts match: the words of the part that has the longest are enough."""
    parts: list[_Words] = []
    run = ""
    while at < len(pattern) and pattern[at] not in "|)":
        letter, words, at = _part(pattern, at)
        repeat = _REPEAT.match(pattern, at)
        if repeat is None and letter:
            run += letter
            continue
        if run:
            parts.append(frozenset({run}))
            run = ""
        if repeat is not None:
            at = repeat.end()
        if words and (repeat is None or repeat[1] == "+" or int(repeat[2] or 0) > 0):
            parts.append(words)
    if run:
        parts.append(frozenset({run}))
    usable = [words for words in parts if min(map(len, words)) >= SHORTEST]
    return max(usable, key=_rarity, default=None), at


def _rarity(words: _Words) -> tuple[bool, int, int]:
    return words.isdisjoint(COMMON), min(map(len, words)), -len(words)


def _part(pattern: str, at: int) -> tuple[str, _Words | None, int]:
    """A letter, or the words of a group, and where the next part begins."""
    if plain := _NO_LETTER.match(pattern, at):
        return plain[0][-1].lower(), None, plain.end()
    if flags := _FLAGS.match(pattern, at):
        return "", None, flags.end()
    if pattern[at] == "(":
        opened = _OPENED.match(pattern, at)
        if opened is None:
            raise _Unsure
        words, at = _alternatives(pattern, opened.end())
        return "", words, at + len(")")
    if pattern[at] == "[":
        return "", None, _after_class(pattern, at)
    if pattern[at] == "\\":
        if pattern[at + 1] not in "bBdDsSwWAz":
            raise _Unsure
        return "", None, at + 2
    if pattern[at] in ".^$":
        return "", None, at + 1
    raise _Unsure


def _after_class(pattern: str, at: int) -> int:
    depth = 0
    first = True
    while True:
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif letter == "[":
            depth += 1
            at += pattern[at + 1] == "^"
            first = True
            at += 1
            continue
        elif letter == "]" and not first:
            depth -= 1
            if depth == 0:
                return at + 1
        first = False
        at += 1
