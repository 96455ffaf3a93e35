"""Which microseconds belong to which day. The only place that knows of time zones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import duckdb

_DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_PLACES = ("localtime", "posixrules", "Factory")  # in zone folders: what a machine is set to


def zone_of(name: str) -> ZoneInfo | None:
    """The zone of an IANA name. None: it is no such name, or means another zone elsewhere."""
    if name in _NO_PLACES:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: the name of a folder of zones
        return None


def lay_out(
    connection: duckdb.DuckDBPyConnection, first_us: int, last_us: int, timezone: str
) -> None:
    """Fill the temporary tables `calendar` and `calendar_pieces` for all days that touch a stretch.

    calendar: day (DATE), from_us, to_us (Unix microseconds, the day is [from_us, to_us)).
    calendar_pieces: the same days cut at UTC midnights, with utc_day = from_us // a day, so that
    the day of an instant is one equality and two comparisons.
    """
    days = _days(first_us, last_us, ZoneInfo(timezone))
    pieces = [piece for day in days for piece in _pieces(*day)]
    connection.execute(
        "create or replace temp table calendar (day date, from_us bigint, to_us bigint)"
    )
    connection.execute(
        "create or replace temp table calendar_pieces "
        "(utc_day bigint, day date, from_us bigint, to_us bigint)"
    )
    _insert(connection, "calendar", days)
    _insert(connection, "calendar_pieces", pieces)


def midnight_us(day: date, zone: ZoneInfo) -> int:
    """The instant at which a day begins in a zone."""
    local = datetime(day.year, day.month, day.day, tzinfo=zone)
    return (local.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def day_of(us: int, zone: ZoneInfo) -> date:
    """The day of an instant in a zone."""
    return _at(us).astimezone(zone).date()


def _days(first_us: int, last_us: int, zone: ZoneInfo) -> list[tuple[date, int, int]]:
    day = day_of(first_us, zone) - timedelta(days=1)
    last = day_of(last_us, zone) + timedelta(days=1)
    found = []
    begins = midnight_us(day, zone)
    while day <= last:
        ends = midnight_us(day + timedelta(days=1), zone)
        found.append((day, begins, ends))
        day, begins = day + timedelta(days=1), ends
    return found


def _pieces(day: date, begins: int, ends: int) -> list[tuple[int, date, int, int]]:
    return [
        (utc_day, day, max(begins, utc_day * _DAY_US), min(ends, (utc_day + 1) * _DAY_US))
        for utc_day in range(begins // _DAY_US, (ends - 1) // _DAY_US + 1)
    ]


def _at(us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=us)


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]
) -> None:
    columns = list(zip(*rows, strict=True))
    marks = ", ".join("unnest(?)" for _ in columns)
    connection.execute(f"insert into {table} select {marks}", [list(column) for column in columns])
