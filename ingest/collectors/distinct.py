"""Lines as a column of text, and columns read by their distinct values: what one cell means is said
elsewhere, once, and a column is read by asking for each value that occurs in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

_CLOCK = {
    f":{minute:02}:{second:02}": minute * 60 + second
    for minute in range(60)
    for second in range(60)
}
_LAST_OF_HOUR = 3_599  # seconds

Read = Callable[[str], int | None]


def texts(lines: Sequence[bytes]) -> pl.Series:
    """Lines as text; null for one that is none."""
    try:
        return pl.Series(lines, dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.ComputeError:
        return pl.Series(list(map(_text, lines)), dtype=pl.String)


def _text(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def by_value(
    cells: pl.Series, read: Callable[[str], object], dtype: type[pl.DataType]
) -> pl.Series:
    """What `read` makes of each cell."""
    values = cells.unique().to_list()
    return _replaced(cells, values, map(read, values), dtype)


def by_row(
    cells: pl.DataFrame,
    read: Callable[[Mapping[str, str]], Mapping[str, object]],
    schema: Mapping[str, type[pl.DataType]],
) -> pl.DataFrame:
    """What `read` makes of each row, as columns: for rows of few values that go together."""
    rows = cells.unique()
    told = pl.from_dicts([dict(read(row)) for row in rows.iter_rows(named=True)], schema=schema)
    return cells.join(
        pl.concat([rows, told], how="horizontal"), on=cells.columns, how="left",
        maintain_order="left",
    ).select(*schema)  # fmt: skip


def by_hour(cells: pl.Series, read: Read, unit: int) -> pl.Series:
    """What `read` makes of each cell, in units of which a second has `unit`.

    Of cells that end in a clock's minutes and seconds it is asked for the first and the last second
    of their hour; where those are one hour apart, so is what lies between.
    """
    clock = _replaced(cells.str.tail(6), list(_CLOCK), _CLOCK.values(), pl.Int64)
    hours = cells.str.head(-6)
    known = hours.filter(clock.is_not_null()).unique().to_list()
    told = clock * unit + _replaced(
        hours, known, (_whole_hour(hour, read, unit) for hour in known), pl.Int64
    )
    if not told.null_count():
        return told
    rest = cells.filter(told.is_null()).unique().to_list()
    return told.zip_with(told.is_not_null(), _replaced(cells, rest, map(read, rest), pl.Int64))


def _whole_hour(hour: str, read: Read, unit: int) -> int | None:
    first, last = read(f"{hour}:00:00"), read(f"{hour}:59:59")
    if first is None or last is None or last - first != _LAST_OF_HOUR * unit:
        return None
    return first


def _replaced(
    cells: pl.Series, values: Sequence[str], told: Iterable[object], dtype: type[pl.DataType]
) -> pl.Series:
    meanings = pl.Series(list(told), dtype=dtype)
    return cells.replace_strict(values, meanings, default=None, return_dtype=dtype)
