"""`python -m bench.detection`: what the detector finds, beside the usual rules, and how fast.

Every fleet here has a seed that calibration never saw. Nothing is asserted: machines differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from bench import alarms, rivals
from bench.series_fleets import Floats, Step, World, daily_figures
from bench.whole_fleets import fleet, last_day
from queries.detection import cusum, thresholds
from queries.detection.series import FLEET, Panel
from queries.regressions import Settings, detect

_SEED = 77_000_000
_WARM = cusum.BEFORE_DAYS
_FIRST = _WARM + 28
POINTS = ((20.0, 1.2), (20.0, 1.5), (100.0, 1.1), (100.0, 1.2))
TIERS = (5.0, 20.0, 100.0)


def main() -> int:
    """Print the tables of docs/detection.md."""
    parser = argparse.ArgumentParser(prog="detection", description=__doc__)
    parser.add_argument("--series", type=int, default=400, help="of each point (default: 400)")
    parser.add_argument("--fleets", type=int, default=40, help="of each point (default: 40)")
    parser.add_argument("--teams", type=int, default=200, help="of the timing (default: 200)")
    chosen = parser.parse_args()
    for part in (
        lambda: _compare(chosen.series),
        lambda: _false_openings(max(2, chosen.fleets // 10)),
        lambda: _openings(chosen.fleets),
        lambda: _shapes(max(5, chosen.fleets // 2)),
        lambda: _timing(chosen.teams),
    ):
        part()
    return 0


# -- methods on single series --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Method:
    name: str
    scores: Callable[[Panel, Floats], Floats | None]
    series: int | None = None  # fewer where one is slow
    limit: float | None = None  # None: set here, on no-change series of its own


def _method_only(panel: Panel, logs: Floats) -> Floats:
    return _over(panel, opens=False)


def _opened(panel: Panel, logs: Floats) -> Floats:
    return _over(panel, opens=True)


def _over(panel: Panel, *, opens: bool) -> Floats:
    sums = cusum.sums(panel)
    limits = thresholds.limits(panel.is_rate, sums.volume)
    if opens:
        return np.maximum(sums.slow / limits.slow, sums.fast / limits.fast)
    return np.maximum(sums.slow / limits.method_slow, sums.fast / limits.method_fast)


METHODS = (
    _Method("ours, method alone", _method_only, limit=1.0),
    _Method("ours, as it opens", _opened, limit=1.0),
    _Method("CUSUM on daily figures", lambda panel, logs: rivals.cusum_of_days(logs)),
    _Method("Welch 7 v 28", lambda panel, logs: rivals.welch(logs)),
    _Method("E-divisive (Otava)", lambda panel, logs: rivals.divisive(logs, _WARM), series=60),
    _Method("percent over mean", lambda panel, logs: rivals.percent_over_mean(logs)),
)


def _compare(series: int) -> None:
    print(f"\nrecall within 14 days (median delay in days), {series} series a point")
    print("others: at 1 false alarm per series-year; ours: at the committed thresholds")
    heads = [f"{per_day:g}/day +{ratio - 1:.0%}" for per_day, ratio in POINTS]
    print(f"{'':26}" + "".join(f"{head:>18}" for head in heads) + "   false alarms a series-year")
    for method in METHODS:
        print(f"{method.name:26}" + _row(method, min(series, method.series or series)), flush=True)


def _row(method: _Method, series: int) -> str:
    cells, false_alarms = [], []
    for per_day in sorted({point[0] for point in POINTS}):
        quiet = _scores(method, series, per_day, None)
        if quiet is None:
            return "  not measured: name an interpreter with apache-otava in OTAVA_PYTHON"
        limit = method.limit or alarms.limit_for(quiet, 1.0)
        count = int(alarms.begun(quiet, limit).sum())
        years = float((~np.isnan(quiet)).sum() / 365)
        low, high = alarms.poisson_interval(count)
        false_alarms.append(f"{count / years:.2f} ({low / years:.2f}-{high / years:.2f})")
        for ratio in (ratio for tier, ratio in POINTS if tier == per_day):
            scores = _scores(method, series, per_day, Step(_FIRST, ratio))
            assert scores is not None
            share, delay = alarms.recall(scores, limit, _FIRST)
            cells.append(f"{share:11.2f} ({delay:3.0f}) ")
    return "".join(f"{cell:>18}" for cell in cells) + "   " + ", ".join(false_alarms)


def _scores(method: _Method, series: int, per_day: float, step: Step | None) -> Floats | None:
    days = _WARM + 365 if step is None else _FIRST + alarms.WITHIN_DAYS
    seed = _SEED + int(per_day) + (0 if step is None else int(1000 * step.ratio))
    panel, logs = daily_figures(seed, series, days, per_day, World(), step)
    scores = method.scores(panel, logs)
    if scores is None:
        return None
    scores = scores.copy()
    scores[:, :_WARM] = np.nan
    return scores


# -- whole fleets --------------------------------------------------------------------------------


def _false_openings(fleets: int) -> None:
    print("\nfalsely opened regressions a team-year (95 %), no-change fleets of every series")
    for per_day in TIERS:
        opened, incidents, years = 0, 0, 0.0
        for number in range(fleets):
            teams, days = 8, 63 + 365
            found = _found(_SEED + 10_000 + number, teams, days, per_day, {})
            opened += found.filter("was_open").height
            incidents += found.filter(~pl.col("was_open") & (pl.col("state") == "incident")).height
            years += teams + 1  # the fleet is watched as a team is
        low, high = alarms.poisson_interval(opened)
        print(
            f"{per_day:5g} jobs a day: {opened / years:.2f} "
            f"({low / years:.2f}-{high / years:.2f}), "
            f"{opened} in {years:g} team-years; incidents never opened {incidents / years:.2f}"
        )


def _openings(fleets: int) -> None:
    print(f"\nwhat opens, in `regressions`, after a step in one phase of one team; {fleets} fleets")
    for per_day, ratio in ((20.0, 1.2), (20.0, 1.3), (20.0, 1.5), (100.0, 1.1), (100.0, 1.2)):
        delays, onsets, named = [], [], 0
        for number in range(fleets):
            step = {(0, "trainer_init"): Step(_FIRST, ratio)}
            days = _FIRST + alarms.WITHIN_DAYS
            found = _found(_SEED + 20_000 + number, 5, days, per_day, step)
            mine = _since(found, _FIRST - 14).filter(
                pl.col("team").is_in(["team-0", FLEET])
                & pl.col("was_open")
                & (pl.col("detected_on") >= last_day(_FIRST + 1))
            )
            if mine.height:
                row = mine.row(0, named=True)
                delays.append((row["detected_on"] - last_day(_FIRST + 1)).days)
                onsets.append(abs((row["started_on"] - last_day(_FIRST + 1)).days))
                named += row["team"] == "team-0" and row["metric"].startswith("trainer_init")
        share = len(delays) / fleets
        print(
            f"{per_day:5g}/day +{ratio - 1:.0%}: recall {share:.2f}, "
            f"delay {np.median(delays or [np.nan]):.0f}, "
            f"onset within 2 days {np.mean(np.array(onsets or [9]) <= 2):.2f}, "
            f"named team and phase {named / max(len(delays), 1):.2f}",
            flush=True,
        )


def _shapes(fleets: int) -> None:
    print(f"\nother shapes, {fleets} fleets each: share of fleets in which it is told as it should")
    ramp = {(0, "trainer_init"): Step(_FIRST, 1.5, ramp=14)}
    _shape("ramp of 14 days to +50 %, opened within 28", fleets, ramp, 28, _is_opened)
    burst = {(0, "trainer_init"): Step(_FIRST, 2.5, lasts=3)}
    _shape("three days of x 2.5: an incident, not open", fleets, burst, 21, _is_incident)
    wide = {(None, "pt2_compile"): Step(_FIRST, 1.5)}
    _shape("all teams +50 %: one row, fleet_wide", fleets, wide, 14, _is_one_fleet_wide)
    larger = {(0, "size"): Step(_FIRST, 8.0)}
    _shape("one team's jobs get larger: mix, not open", fleets, larger, 28, _is_mix)


def _shape(
    name: str,
    fleets: int,
    steps: dict[tuple[int | None, str], Step],
    days: int,
    holds: Callable[[pl.DataFrame], bool],
) -> None:
    hits = sum(
        holds(_since(_found(_SEED + 30_000 + number, 5, _FIRST + days, 20.0, steps), _FIRST - 7))
        for number in range(fleets)
    )
    print(f"{name:44} {hits / fleets:.2f}", flush=True)


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


def _found(
    seed: int,
    teams: int,
    days: int,
    per_day: float,
    steps: dict[tuple[int | None, str], Step],
) -> pl.DataFrame:
    cells = fleet(seed, teams, days, per_day, World(), steps)
    return detect(cells, last_day(days), Settings()).regressions


def _since(found: pl.DataFrame, day: int) -> pl.DataFrame:
    """What began near or after a day and was told, or is a mix."""
    told = pl.col("detected_on").is_not_null() | (pl.col("verdict") == "mix")
    return found.filter((pl.col("started_on") >= last_day(day + 1)) & told)


def _timing(teams: int) -> None:
    days, per_day = 400, 5.0
    parts = [fleet(_SEED + part, 20, days, per_day, World()) for part in range(teams // 20)]
    cells = pl.concat(
        part.with_columns(pl.format("{}-{}", pl.lit(place), "team").alias("team"))
        for place, part in enumerate(parts)
    )
    began = time.perf_counter()
    found = detect(cells, last_day(days), Settings())
    took = time.perf_counter() - began
    print(
        f"\n{teams} teams x {days} days, {found.quiet.height:,} series from {cells.height:,} sums: "
        f"{took:.1f} s on one core"
    )


if __name__ == "__main__":
    sys.exit(main())
