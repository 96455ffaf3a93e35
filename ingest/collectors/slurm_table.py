"""The rows of a sacct table many at once: which lines of a block look like rows, and their cells as
columns.

Looks at a line as `slurm_rows` does, or more strictly: a line that is left out here is read alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ingest.collectors.distinct import by_value, texts
from ingest.collectors.slurm_columns import Columns, fits
from ingest.collectors.slurm_rows import NO_LENGTH, TIMES, UNSET
from ingest.collectors.slurm_states import known_state

LINE = "line of the block"  # beside the columns of the table, whose names are single words
STATE = "state that is known"
IS_STEP = "is a step"
_TEXT = "text of the line"
_TOO_MANY = "more than columns"


def can_split(columns: Columns) -> bool:
    """Whether a table's lines can be cut many at once: by a delimiter, no column named twice."""
    return bool(columns.delimiter) and len(set(columns.names)) == len(columns.names)


def whole_rows(columns: Columns, lines: Sequence[bytes]) -> pl.DataFrame:
    """The lines that look like rows: their cells, `LINE`, `STATE` and `IS_STEP`."""
    names = columns.names
    pieces = pl.col(_TEXT).str.split_exact(columns.delimiter, len(names))  # one more than there are
    cells = (
        pl.DataFrame({_TEXT: texts(lines)})
        .with_row_index(LINE)
        .select(LINE, pieces.struct.rename_fields([*names, _TOO_MANY]).struct.unnest())
        .filter(pl.col(names[-1]).is_not_null(), pl.col(_TOO_MANY).is_null())
    )
    ids = [name for name in ("JobIDRaw", "JobID") if name in names]
    return cells.with_columns(
        by_value(cells["State"], known_state, pl.String).alias(STATE),
        pl.any_horizontal(pl.col(ids).str.contains(".", literal=True)).alias(IS_STEP),
    ).filter(
        pl.col(STATE).is_not_null(),
        *(_begins_with_digit(name) for name in ids),
        *(look for name in names if (look := _look(name, cells[name])) is not None),
    )


def _look(name: str, cells: pl.Series) -> pl.Expr | pl.Series | None:
    """What tells that a shifted row got a cell wrong."""
    if name in TIMES:
        return _begins_with_digit(name) | pl.col(name).is_in(sorted(UNSET))
    if name in ("AllocTRES", "ReqTRES"):
        return (pl.col(name) == "") | pl.col(name).str.contains("=", literal=True)
    if name in ("Elapsed", "Suspended"):
        return _begins_with_digit(name) | pl.col(name).is_in(sorted(NO_LENGTH))
    if name == "WorkDir":
        return (pl.col(name) == "") | pl.col(name).str.starts_with("/")
    if name in ("Cluster", ""):
        return by_value(cells, lambda cell: fits(name, cell), pl.Boolean)
    return None


def _begins_with_digit(name: str) -> pl.Expr:
    return pl.col(name).str.head(1).is_between(pl.lit("0"), pl.lit("9"))
