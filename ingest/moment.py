"""When an ingest happens. The edge asks the clock once; everything below takes it from here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


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
        now = self.now.replace(tzinfo=UTC)
        return max(int(now.timestamp() * 1e6), self.as_of_us or 0)
