"""What says why an attempt ended: the columns for it, which an older warehouse does not have.

Reads the catalogue of the published file, never a dump.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app import data

COLUMNS: Final = (
    "failure_rule",
    "failure_evidence",
    "failure_evidence_file",
    "failure_evidence_line",
)
_CATALOGUE: Final = """
select column_name
from duckdb_columns()
where table_name = 'attempts' and starts_with(column_name, 'failure_')
"""


def columns() -> tuple[str, ...]:
    """The columns of `attempts` that hold evidence, as far as this warehouse has them."""
    held = set(data.frame(_CATALOGUE)["column_name"])
    return tuple(name for name in COLUMNS if name in held)


def select_list() -> str:
    """The same as the end of a select list, empty where there are none."""
    return "".join(f", {name}" for name in columns())


def shown(names: Sequence[str]) -> list[str]:
    """Columns of attempts in the order that a table shows: what was said, instead of the message.

    A message is of the end alone, and most ends have none: the evidence is that message or better.
    """
    if "failure_evidence" not in names:
        return list(names)
    others = [name for name in names if name not in (*COLUMNS, "message")]
    place = list(names).index("message")
    found_by = [name for name in COLUMNS if name != "failure_evidence" and name in names]
    return [*others[:place], "failure_evidence", *others[place:], *found_by]
