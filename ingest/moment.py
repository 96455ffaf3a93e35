"""When an ingest happens. The edge asks the clock once; everything below takes it from here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Moment:
    """`now` is UTC and naive; the others are Unix microseconds.

    Times after `latest_us` are not believed. `as_of_us` is what the user says the dumps reach to.
    """

    now: datetime
    latest_us: int
    as_of_us: int | None

    @property
    def reach_us(self) -> int:
        """No dump reaches further than to now, or to what the user says."""
        return max(microseconds(self.now.replace(tzinfo=UTC)), self.as_of_us or 0)


def microseconds(moment: datetime) -> int:
    """Since 1970, of a moment that tells its zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
