"""SQL as a page shows it: with the page's values in it, so that it runs where it is pasted.

For reading and pasting only. What a page runs has its values apart (`data.frame`), never in a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Final

from queries.model import Model

_PLACE: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|\$(\d+)|\?")
_WORD: Final = re.compile(r"'(?:[^']|'')*'|--[^\n]*|(?<![.\w])(?<!\bas )([a-z_]+)(?!\w)")
_MACRO: Final = re.compile(r"^-- macro: (.+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"--[^\n]*")
_READS: Final = re.compile(r"(?<!distinct )\b(?:from|join)\s+([a-z_.]+)", re.IGNORECASE)
_NAMED: Final = re.compile(r"\b([a-z_]+) as (?:(?:not )?materialized )?\(")
# what a reader of a screen would not see, or see as something else
_HIDDEN: Final = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def with_values(sql: str, values: Sequence[object]) -> str:
    """The select with each `$1` or `?` replaced by its value as a literal."""
    rest = iter(values)

    def value(found: re.Match[str]) -> str:
        if found[0] == "?":
            return literal(next(rest))
        return literal(values[int(found[1]) - 1]) if found[1] else found[0]

    return _PLACE.sub(value, sql)


def literal(value: object) -> str:
    """A value as DuckDB reads it in a select."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and math.isfinite(value):
        return repr(value) if "e" in repr(value) else f"{value!r}e0"  # else it is a decimal
    if isinstance(value, int):
        return repr(value)
    if isinstance(value, datetime):
        return f"timestamp '{value}'"
    if isinstance(value, date):
        return f"date '{value}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    return _text(str(value))


def of_view(view: Model, serving: Sequence[Model], select: str) -> str | None:
    """How a view computes what `select` reads of it; None where only a publish can run that."""
    names = {each.name for each in serving}
    bare = _COMMENT.sub("", view.sql)
    if set(_READS.findall(bare)) - names - set(_NAMED.findall(bare)):
        return None
    parameters = _parameters(view)
    if not parameters:
        return view.sql.strip()
    given = _arguments(view.name, select)
    if len(given) != len(parameters):
        return None
    values = dict(zip(parameters, given, strict=True))
    return _WORD.sub(lambda found: values.get(found[1] or "", found[0]), view.sql.strip())


def of_all(view: Model, values: Mapping[str, str]) -> str:
    """A select on the view; `values`: literals for the parameters that views of a window have."""
    parameters = _parameters(view)
    called = f"({', '.join(values[name] for name in parameters)})" if parameters else ""
    return f"from {view.name}{called} limit 100"


def _text(text: str) -> str:
    pieces, start = [], 0
    for found in _HIDDEN.finditer(text):
        pieces += [_quoted(text[start : found.start()]), f"chr({ord(found[0])})"]
        start = found.end()
    if not pieces:
        return _quoted(text)
    return f"({' || '.join([*pieces, _quoted(text[start:])])})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _parameters(view: Model) -> list[str]:
    found = _MACRO.search(view.sql)
    return [name.strip() for name in found[1].split(",")] if found else []


def _arguments(name: str, select: str) -> list[str]:
    """The arguments of the first call of this macro, as they are written."""
    called = re.search(rf"\b{name}\(", select)
    given, depth, is_quoted = [""], 0, False
    for character in select[called.end() :] if called else "":
        is_quoted ^= character == "'"
        if not is_quoted:
            if character == ")" and not depth:
                break
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
            if character == "," and not depth:
                given.append("")
                continue
        given[-1] += character
    return [each.strip() for each in given] if called else []
