"""`python -m bench.detection`: what the detector finds, beside the usual rules, and how fast.

Every fleet here has a seed that calibration never saw. Nothing is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.methods import compare
from bench.openings import false_openings, openings, shapes, timing
from bench.whole_way import whole_way


@dataclass(frozen=True, slots=True)
class Size:
    """How much is drawn: series and fleets of each point; teams of the timing."""

    series: int
    quiet_fleets: int
    stepped_fleets: int
    shaped_fleets: int
    dumped_fleets: int
    teams: int = 200


SHORT = Size(200, 4, 20, 10, 5)
FULL = Size(1000, 40, 100, 50, 20)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of docs/detection.md."""
    parser = argparse.ArgumentParser(
        prog="detection", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="as in docs/detection.md: an hour")
    parser.add_argument(
        "--part", action="append", choices=list(_PARTS), help="only this one; may be repeated"
    )
    chosen = parser.parse_args(arguments)
    size = FULL if chosen.full else SHORT
    for name in chosen.part or _PARTS:
        _PARTS[name](size)
    return 0


_PARTS: dict[str, Callable[[Size], None]] = {
    "methods": lambda size: compare(size.series),
    "quiet": lambda size: false_openings(size.quiet_fleets),
    "steps": lambda size: openings(size.stepped_fleets),
    "shapes": lambda size: shapes(size.shaped_fleets),
    "dumps": lambda size: whole_way(size.dumped_fleets),
    "timing": lambda size: timing(size.teams),
}


if __name__ == "__main__":
    sys.exit(main())
