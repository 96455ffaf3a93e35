"""A fleet of a wished size, from settings and planted changes to dumps and truth.

The one door for programs: `simulated` for histories in memory, `write_fleet` for files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from sample_data.cluster import run_cluster
from sample_data.doings import History
from sample_data.jobs import submitted
from sample_data.lines import Lines, lines_of
from sample_data.planted import Effects, Planted, RollOut
from sample_data.rendering import Cloning
from sample_data.settings import LINES_PER_JOB, QUIET_START_US, Settings
from sample_data.teams import fleet_teams
from sample_data.times import SECOND
from sample_data.truth import truth, write_truth
from sample_data.writer import Output, Written, write_days

# Beyond this the simulated fleet is written several times.
MOST_SIMULATED_EVENTS = 1_000_000

_CLOSE_ENOUGH = 0.07
_MOST_TRIES = 6


@dataclass(frozen=True, slots=True)
class Fleet:
    """A simulated fleet and its lines; the owner of a line is the place of its job's history."""

    settings: Settings
    planted: tuple[Planted, ...]
    roll_outs: tuple[RollOut, ...]
    histories: tuple[History, ...]
    lines: Lines

    def __len__(self) -> int:
        return len(self.lines.tails)


def simulated(
    settings: Settings, planted: Sequence[Planted] = (), roll_outs: Sequence[RollOut] = ()
) -> Fleet:
    """The fleet of these settings, whatever its size turns out to be."""
    effects = Effects(tuple(planted), settings.begins_us)
    jobs = submitted(settings, fleet_teams(settings.teams), effects)
    histories = run_cluster(
        jobs, settings.gpus, settings.begins_us, settings.ends_us, effects, settings.seed
    )
    lines = lines_of(histories, roll_outs, settings.begins_us, settings.ends_us)
    return Fleet(settings, tuple(planted), tuple(roll_outs), tuple(histories), lines)


def of_size(
    events: int,
    settings: Settings,
    planted: Sequence[Planted] = (),
    roll_outs: Sequence[RollOut] = (),
) -> Fleet:
    """A fleet of about this many events; `jobs_per_day` of the settings becomes what that takes."""
    per_day = events / settings.days / LINES_PER_JOB
    closest: Fleet | None = None
    for _ in range(_MOST_TRIES):
        fleet = simulated(replace(settings, jobs_per_day=per_day), planted, roll_outs)
        if closest is None or abs(len(fleet) - events) < abs(len(closest) - events):
            closest = fleet
        if abs(len(closest) / events - 1) <= _CLOSE_ENOUGH:
            break
        per_day *= events / max(1, len(fleet))
    assert closest is not None
    return closest


def cloning_for(events: int) -> Cloning:
    """One copy up to a million events, then more; shifts stay inside the quiet first hour."""
    copies = max(1, ceil(events / MOST_SIMULATED_EVENTS))
    if copies == 1:
        return Cloning()
    shift = (QUIET_START_US - 2 * SECOND) // copies // 1000 * 1000
    return Cloning(copies, shift)


def write_fleet(
    fleet: Fleet,
    folder: Path,
    broken_ratio: float = 0.0,
    compression: str = "none",
    cloning: Cloning | None = None,
    processes: int = 1,
) -> list[Written]:
    """Write the dumps and `truth.json`; other files in the folder are left alone."""
    cloning = cloning or Cloning()
    settings = fleet.settings
    output = Output(
        folder,
        settings.begins_us,
        settings.days,
        settings.seed,
        broken_ratio,
        compression,
        cloning,
    )
    clocks = [each.job.team.clock for each in fleet.histories]
    written = write_days(fleet.lines, clocks, output, processes)
    whole = truth(settings, fleet.histories, fleet.planted, fleet.roll_outs, written, cloning)
    write_truth(folder / "truth.json", whole)
    return written
