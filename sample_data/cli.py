"""`python -m sample_data`: flags to a fleet on disk.

The only module here that may ask what day it is.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.arguments import day
from sample_data.fleet import cloning_for, of_size, simulated, write_fleet
from sample_data.planted import planted_regressions, roll_outs
from sample_data.settings import Settings
from sample_data.teams import fleet_teams

log = logging.getLogger("sample_data")

_EXAMPLES = """\
examples:
  python -m sample_data --out dumps --end 2026-03-31
      the sample fleet: 8 teams, 120 days, about 300,000 events, six planted changes
  python -m sample_data --out quiet --end 2026-03-31 --no-regressions --seed 11
      a fleet in which nothing changes, to calibrate alerts on
  python -m sample_data --out large --end 2026-03-31 --events 100000000 --broken 0 --processes 2
      a million events simulated, written a hundred times under other ids (16 GB)
  python -m sample_data --out few --end 2026-03-31 --days 30 --teams 2 --jobs-per-day 20

Equal flags give equal bytes. Without --end the fleet ends yesterday (UTC).
The folder gets events-<day>.jsonl and truth.json: areas of every job, planted list, broken lines.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a fleet; exit code 0."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    flags = _parser().parse_args(arguments)
    began = time.monotonic()
    last_day = flags.end or datetime.now(UTC).date() - timedelta(days=1)
    settings = Settings(last_day, flags.days, flags.teams, flags.jobs_per_day or 0.0, flags.seed)
    teams = fleet_teams(flags.teams)
    planted = () if flags.no_regressions else planted_regressions(flags.days, teams)
    told = roll_outs(flags.days, teams)
    cloning = cloning_for(0 if flags.jobs_per_day else flags.events)
    if flags.jobs_per_day:
        fleet = simulated(settings, planted, told)
    else:
        fleet = of_size(flags.events // cloning.copies, settings, planted, told)
    _warn_of_others(flags.out)
    written = write_fleet(fleet, flags.out, flags.broken, flags.compress, cloning, flags.processes)
    log.info(
        "%d events of %d jobs in %d files to %s, %d broken, %.1f s",
        sum(dump.lines for dump in written),
        len(fleet.histories) * cloning.copies,
        len(written),
        flags.out,
        sum(len(dump.broken) for dump in written),
        time.monotonic() - began,
    )
    return 0


def _warn_of_others(folder: Path) -> None:
    there = sorted(folder.glob("events-*.jsonl*"))
    if there:
        log.warning(
            "%s holds %d dumps already. Those of other days or another compression stay: "
            "remove them, or the fleets mix.",
            folder,
            len(there),
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sample_data",
        description="Write a simulated GPU fleet: native event dumps, and the truth about them.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR", help="folder for the dumps")
    add("--end", type=day, metavar="DAY", help="last full day, YYYY-MM-DD, UTC")
    add("--days", type=_at_least_one, default=120, help="days of data (120)")
    add("--teams", type=_at_least_one, default=8, help="number of teams (8)")
    add("--events", type=_at_least_one, default=300_000, help="events, within 10 %% (300000)")
    add("--jobs-per-day", type=float, help="jobs a day instead of --events")
    add("--seed", type=int, default=7, help="another seed, another fleet (7)")
    add("--broken", type=_ratio, default=0.001, help="share of broken lines (0.001)")
    add("--no-regressions", action="store_true", help="plant nothing")
    add("--compress", choices=("none", "gz", "zst"), default="none", help="(none)")
    add("--processes", type=_at_least_one, default=1, help="writers; same bytes (1)")
    return parser


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def _ratio(text: str) -> float:
    ratio = float(text)
    if not 0 <= ratio < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return ratio
