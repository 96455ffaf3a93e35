"""What a fleet is made from: everything that decides its bytes. Never reads flags or the clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from sample_data.times import DAY, HOUR, SECOND, midnight

# Measured on fleets of all sizes; the first guess from which `fleet.of_size` corrects itself.
LINES_PER_JOB = 59.5
GPU_HOURS_PER_JOB = 760.0

# Clones are shifted back by up to this much, so the first hour of a fleet is left empty.
QUIET_START_US = HOUR

# Clocks are off by up to a second: the last moments are left empty so that no event leaves its day.
QUIET_END_US = 2 * SECOND


@dataclass(frozen=True, slots=True)
class Settings:
    """The flags of a fleet; `last_day` is the last full day of data (UTC)."""

    last_day: date
    days: int = 120
    teams: int = 8
    jobs_per_day: float = 40.0
    seed: int = 7

    @property
    def first_day(self) -> date:
        return self.last_day - timedelta(days=self.days - 1)

    @property
    def begins_us(self) -> int:
        return midnight(self.first_day)

    @property
    def ends_us(self) -> int:
        """The last moment of which anything is told."""
        return midnight(self.last_day) + DAY - QUIET_END_US

    @property
    def gpus(self) -> int:
        """What the jobs need and four fifths more; room for two of the largest at least."""
        needed = self.jobs_per_day * GPU_HOURS_PER_JOB / 24
        return max(2048, round(1.8 * needed / 64) * 64)
