"""The units that dumps count time in, and the years in which their times are believed."""

from __future__ import annotations

MILLISECOND_US = 1_000
SECOND_US = 1_000_000

# the years 2000 to 2099, in seconds and in microseconds since 1970
EARLIEST, LATEST = 946_684_800, 4_102_444_800
EARLIEST_US, LATEST_US = EARLIEST * SECOND_US, LATEST * SECOND_US
