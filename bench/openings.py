"""What is told of whole fleets, of every series: for nothing, of a step, and of other shapes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl

from bench import alarms
from bench.methods import FIRST_DAY, SEED, TIERS, method_only, rate
from bench.series_fleets import Step, World
from bench.whole_fleets import fleet, last_day
from queries.detection import method, series
from queries.detection.series import FLEET
from queries.regressions import Settings, detect

Steps = dict[tuple[int | None, str], Step]

_QUIET_TEAMS = 8
# a year from the first day that can be judged: baselines are short in the first half of it
_QUIET_DAYS = method.LEAST_BASELINE_DAYS + method.LAG_DAYS + 365
_STEPS = ((20.0, 1.2), (20.0, 1.3), (20.0, 1.5), (100.0, 1.1), (100.0, 1.2))


def false_openings(fleets: int) -> None:
    """Fleets in which nothing changes, by volume."""
    print("\nfleets in which nothing changes, every series of them (95 %)")
    for per_day in TIERS:
        opened, incidents, alarmed, team_years, series_years = 0, 0, 0, 0.0, 0.0
        for number in range(fleets):
            cells = fleet(SEED + 10_000 + number, _QUIET_TEAMS, _QUIET_DAYS, per_day, World())
            found = _told(cells, _QUIET_DAYS)
            opened += found.filter("was_open").height
            incidents += found.filter(~pl.col("was_open") & (pl.col("state") == "incident")).height
            team_years += _QUIET_TEAMS + 1  # the fleet is watched as a team is
            count, years = _alarms(cells)
            alarmed, series_years = alarmed + count, series_years + years
        print(f"{per_day:5g}/day: opened a team-year {rate(opened, team_years)}")
        print(f"           incidents a team-year {rate(incidents, team_years)}")
        print(f"           method alone a series-year {rate(alarmed, series_years)}", flush=True)


def _alarms(cells: pl.DataFrame) -> tuple[int, float]:
    """How often the method alone alarms in a fleet, and in how many series-years."""
    panels = series.panels(cells, last_day(_QUIET_DAYS))
    count, years = 0, 0.0
    for panel in (panels.levels, panels.rates):
        over = method_only(panel)
        count += int(alarms.begun(over, 1.0).sum())
        years += float((~np.isnan(over)).sum() / 365)
    return count, years


def openings(fleets: int) -> None:
    """Steps in one phase of one team of five."""
    print(f"\nwhat opens within 14 days of a step in a phase of a team, {fleets} fleets a point")
    for per_day, ratio in _STEPS:
        delays, onsets, named = [], [], 0
        for number in range(fleets):
            step: Steps = {(0, "trainer_init"): Step(FIRST_DAY, ratio)}
            days = FIRST_DAY + alarms.WITHIN_DAYS
            found = _found(SEED + 20_000 + number, 5, days, per_day, step)
            mine = found.filter(
                pl.col("team").is_in(["team-0", FLEET])
                & pl.col("was_open")
                & (pl.col("started_on") >= last_day(FIRST_DAY - 13))
                & (pl.col("detected_on") >= last_day(FIRST_DAY + 1))
            ).sort("detected_on", "team")
            if mine.height:
                row = mine.row(0, named=True)
                delays.append((row["detected_on"] - last_day(FIRST_DAY + 1)).days)
                onsets.append(abs((row["started_on"] - last_day(FIRST_DAY + 1)).days))
                named += row["team"] == "team-0" and row["metric"].startswith("trainer_init")
        print(
            f"{per_day:5g}/day +{ratio - 1:.0%}: recall {len(delays) / fleets:.3f}, "
            f"median delay {np.median(delays or [np.nan]):.0f}, "
            f"first day within 2 {np.mean(np.array(onsets or [9]) <= 2):.2f}, "
            f"named team and phase {named / max(len(delays), 1):.2f}",
            flush=True,
        )


def shapes(fleets: int) -> None:
    """What is no step, or no step of one team."""
    print(f"\nother shapes at 20 a day: share of {fleets} fleets that tell it as it is")
    ramp: Steps = {(0, "trainer_init"): Step(FIRST_DAY, 1.5, ramp=14)}
    _shape("ramp over 14 days to +50 %, opened within 28", fleets, ramp, 28, _is_opened)
    burst: Steps = {(0, "trainer_init"): Step(FIRST_DAY, 2.5, lasts=3)}
    _shape("three days of x 2.5: an incident, never open", fleets, burst, 21, _is_incident)
    wide: Steps = {(None, "pt2_compile"): Step(FIRST_DAY, 1.5)}
    _shape("all teams +50 %: one open row, fleet_wide", fleets, wide, 14, _is_one_fleet_wide)
    larger: Steps = {(0, "size"): Step(FIRST_DAY, 8.0)}
    _shape("one team's jobs 8 x as large: mix, not open", fleets, larger, 28, _is_mix)


def _shape(
    name: str, fleets: int, steps: Steps, days: int, holds: Callable[[pl.DataFrame], bool]
) -> None:
    told = pl.col("detected_on").is_not_null() | (pl.col("verdict") == "mix")
    hits = sum(
        holds(
            _found(SEED + 30_000 + number, 5, FIRST_DAY + days, 20.0, steps).filter(
                told & (pl.col("started_on") >= last_day(FIRST_DAY - 6))
            )
        )
        for number in range(fleets)
    )
    print(f"{name:46} {hits / fleets:.2f}", flush=True)


def _is_opened(found: pl.DataFrame) -> bool:
    return found.filter((pl.col("team") == "team-0") & pl.col("was_open")).height > 0


def _is_incident(found: pl.DataFrame) -> bool:
    mine = found.filter((pl.col("team") == "team-0") & pl.col("metric").str.contains("trainer"))
    return mine.filter(pl.col("state") == "incident").height == 1 and not _is_open(mine)


def _is_one_fleet_wide(found: pl.DataFrame) -> bool:
    opened = found.filter((pl.col("state") == "open") & pl.col("metric").str.contains("pt2|tts"))
    return opened.select("team", "verdict").rows() == [(FLEET, "fleet_wide")]


def _is_mix(found: pl.DataFrame) -> bool:
    mine = found.filter(pl.col("team") == "team-0")
    return "mix" in mine["verdict"].to_list() and not _is_open(mine)


def _is_open(found: pl.DataFrame) -> bool:
    return found.filter(pl.col("state") == "open").height > 0


def timing(teams: int) -> None:
    """How long all series of a large fleet take."""
    days, per_day = 400, 5.0
    parts = [fleet(SEED + part, 20, days, per_day, World()) for part in range(teams // 20)]
    cells = pl.concat(
        part.with_columns(pl.format("{}-{}", pl.lit(place), "team").alias("team"))
        for place, part in enumerate(parts)
    ).sort("metric", "team", "day")  # as a warehouse tells them
    began, spent = time.perf_counter(), time.process_time()
    found = detect(cells, last_day(days), Settings())
    print(
        f"\n{teams} teams x {days} days, {found.quiet.height:,} series from {cells.height:,} sums: "
        f"{time.perf_counter() - began:.1f} s, {time.process_time() - spent:.1f} s of processor"
    )


def _found(seed: int, teams: int, days: int, per_day: float, steps: Steps) -> pl.DataFrame:
    return _told(fleet(seed, teams, days, per_day, World(), steps), days)


def _told(cells: pl.DataFrame, days: int) -> pl.DataFrame:
    return detect(cells, last_day(days), Settings()).regressions
