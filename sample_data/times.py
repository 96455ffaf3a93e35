"""Time as the simulator counts it: integer Unix microseconds, UTC. Never asks what time it is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def midnight(day: date) -> int:
    """The microsecond at which a UTC day begins."""
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) - _EPOCH) // timedelta(
        microseconds=1
    )


def day_of(at_us: int) -> date:
    return (_EPOCH + timedelta(microseconds=at_us)).date()


def of_seconds(seconds: float) -> int:
    """Microseconds, rounded to a whole millisecond: the resolution in which the fleet lives."""
    return round(seconds * 1000) * 1000
