"""Messages that no rule explains, as templates: what an owner reads to write the missing rule.

Drain's idea (a message is a template with variable parts, alike if most words are), computed over
all messages at once in an order of their own: the templates are a function of the messages, however
and in which order these were ingested. Never decides which messages want a rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import polars as pl

ALIKE = 0.6  # of the words of two messages of one template, the part that is equal at least
MANY = 100  # templates that begin alike; above that their first words alone tell them apart
FIRST_WORDS = 3
ANYTHING = "<*>"

_CHARACTERS = 300  # of a message's telling line
_SCHEMA: pl.Schema = pl.Schema({
    "template": pl.String(),
    "count": pl.Int64(),
    "example": pl.String(),
    "first_us": pl.Int64(),
    "last_us": pl.Int64(),
})  # fmt: skip
_TELLS_NOTHING = "|".join((
    r"^[\s^~+|-]*$",
    r"^\s{4}",
    r"^\s*Traceback \(most recent call last\)",
    r'^\s*File "[^"]*", line \d+',
))  # fmt: skip
_PREFIX = (
    r"^(?:\[default\d+\]:?\s?|\[rank\d+\]:\s?|\[\d+\]:\s?|\d+: |[IWEF]\d{4} \S+ +\d+ \S+\] ?"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]*\]?\s*)+"
)
# in this order: what one makes of a text no later one reads as something else
_VARIABLE = (
    (r"\x1b\[[0-9;]*[A-Za-z]", ""),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
    (r"\b[a-z][a-z0-9+]{1,9}://[^\s'\"]+", "<url>"),
    (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d+>?)?", "<address>"),
    (r"(^|[\s(\[{=:,])(?:'[^']{1,120}'|\"[^\"]{1,120}\")", "${1}<name>"),
    (r"(^|[\s(\[{=:,])(?:/[\w.@+=-]+){2,}/?", "${1}<path>"),
    (r"\b0x[0-9a-fA-F]+\b|\b[0-9a-fA-F]{12,}\b", "<id>"),
    (r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", "<number>"),
    (r"\s+", " "),
)

_Words = tuple[str, ...]


def templates(messages: pl.DataFrame) -> pl.DataFrame:
    """One row a template, the most frequent first: template, count, example, first_us, last_us.

    `messages` has one row a message: message, count, first_us, last_us. The example is the line of
    the earliest message.
    """
    lines = _alike_but_for_variables(messages)
    of = _clustered(lines["masked"].unique().sort())
    named = lines.with_columns(template=pl.col("masked").replace_strict(of, return_dtype=pl.String))
    return (
        named.sort("first_us", "line")
        .group_by("template", maintain_order=True)
        .agg(
            pl.col("count").sum(),
            pl.col("line").first().alias("example"),
            pl.col("first_us").min(),
            pl.col("last_us").max(),
        )
        .sort("count", "template", descending=[True, False])
        .select(list(_SCHEMA))
        .cast(_SCHEMA)
    )


def _alike_but_for_variables(messages: pl.DataFrame) -> pl.DataFrame:
    """Each message's telling line, and that line with its variable parts masked."""
    masked = pl.col("line")
    for pattern, name in _VARIABLE:
        masked = masked.str.replace_all(pattern, name)
    return (
        messages.drop_nulls("message")
        .with_columns(line=_telling_line())
        .with_columns(masked=masked.str.strip_chars())
        .filter(pl.col("masked") != "")
    )


def _telling_line() -> pl.Expr:
    """The first line that is neither empty nor part of a traceback's frame; else the first."""
    lines = pl.col("message").str.slice(0, 16 * 1024).str.split("\n")
    telling = lines.list.filter(~pl.element().str.contains(_TELLS_NOTHING)).list.first()
    return (
        pl.coalesce(telling, lines.list.first())
        .str.replace(_PREFIX, "")
        .str.slice(0, _CHARACTERS)
        .str.strip_chars()
    )


def _clustered(texts: Iterable[str]) -> dict[str, str]:
    """Text -> template, of texts in ascending order."""
    groups: dict[tuple[int, str], list[_Words]] = defaultdict(list)
    for text in texts:
        words = tuple(text.split(" "))
        groups[len(words), words[0]].append(words)
    of: dict[str, str] = {}
    for group in groups.values():
        for words, template in _of_group(group).items():
            of[" ".join(words)] = " ".join(template)
    return of


def _of_group(group: list[_Words]) -> dict[_Words, _Words]:
    """Of texts with the same number of words and the same first word, each one's template."""
    made: list[_Words] = []
    members: list[list[_Words]] = []
    for words in group:
        scores = [_equal(words, template) for template in made]
        best = max(range(len(made)), key=lambda place: (scores[place], -place), default=None)
        if best is None or scores[best] < ALIKE * len(words):
            made.append(words)
            members.append([words])
            if len(made) > MANY:
                return {words: (*words[:FIRST_WORDS], ANYTHING) for words in group}
            continue
        made[best] = tuple(
            mine if mine == theirs else ANYTHING
            for mine, theirs in zip(words, made[best], strict=True)
        )
        members[best].append(words)
    return {words: made[place] for place, those in enumerate(members) for words in those}


def _equal(words: _Words, template: _Words) -> int:
    return sum(mine == theirs for mine, theirs in zip(words, template, strict=True))
