"""`make calibrate`: replay fleets in which nothing changes, and set the detector's thresholds.

Writes queries/detection/thresholds.csv, whole: limits of both sums by kind and volume of a series
and by false alarms a series-year, with what they find. The rows in use are marked: `method` alarms
once a series-year, `opens` so that a team is falsely told of less than once a year.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bench import alarms
from bench.series_fleets import Floats, Step, World, events, latencies
from queries.detection import baseline, cusum, method, thresholds
from queries.detection.series import Panel

RATES = (4.0, 2.0, 1.0, 0.5, 0.25, 1 / 8, 1 / 16, 1 / 24, 1 / 36, 1 / 50)
METHOD_RATE = 1.0
OPENING_RATE = 1 / 36
FAST_SHARE = 0.05
LEVEL_TIERS = (5.0, 20.0, 100.0)
RATE_TIERS = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)
LEVEL_RATIOS = (1.1, 1.2, 1.3, 1.5)
RATE_RATIOS = (2.0, 3.0, 5.0, 10.0)
RECALL_AIM = 0.8

_WARM_DAYS = cusum.BEFORE_DAYS
_AT_ONCE = 500
_STEPPED = 1000
_SEED = 20_260_301
COLUMNS = (
    "kind",
    "per_day",
    "false_alarms_per_series_year",
    "used_as",
    "slow",
    "fast",
    "shift",
    *(f"recall_{place}" for place in range(1, 5)),
    "series_years",
    "probe",
)


@dataclass(frozen=True, slots=True)
class _Tier:
    """Series of one kind and volume."""

    kind: str
    per_day: float
    seed: int

    @property
    def ratios(self) -> tuple[float, ...]:
        return LEVEL_RATIOS if self.kind == "level" else RATE_RATIOS

    def panel(self, part: int, series: int, days: int, ratio: float = 1.0, first: int = 0) -> Panel:
        seed = self.seed + part
        if self.kind == "rate":
            return events(seed, series, days, self.per_day, WORLD_OF_EVENTS, ratio, first)
        step = Step(first, ratio) if ratio != 1 else None
        return latencies(seed, series, days, self.per_day, World(), step)


WORLD_OF_EVENTS = World(day_spread=0.1)


def main() -> int:
    """Measure, write the table, print it."""
    parser = argparse.ArgumentParser(prog="calibrate", description=__doc__)
    parser.add_argument("--series-years", type=int, default=3000, help="of each tier")
    chosen = parser.parse_args()
    mark = probe()
    rows = [row for tier in _tiers() for row in _measured(tier, chosen.series_years, mark)]
    with thresholds.TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n").writerows(rows)
    return 0


def probe() -> str:
    """A number that changes when the scores do: of a few series of either kind, drawn anew."""
    panels = (latencies(1, 6, 300, 12.0, World()), events(2, 6, 300, 1.0, WORLD_OF_EVENTS))
    found = [alarms.sums(panel) for panel in panels]
    whole = sum(
        float(np.nansum(part)) for each in found for part in (each.slow, each.fast, each.fall)
    )
    return f"{whole:.6f}"


def used_as(rate: float) -> str:
    """What the limits of a rate of false alarms are used for."""
    return {METHOD_RATE: "method", OPENING_RATE: "opens"}.get(rate, "")


def _tiers() -> Iterator[_Tier]:
    for place, (kind, per_day) in enumerate(
        [*(("level", each) for each in LEVEL_TIERS), *(("rate", each) for each in RATE_TIERS)]
    ):
        yield _Tier(kind, per_day, _SEED + 1000 * place)


def _measured(tier: _Tier, series_years: int, mark: str) -> Iterator[dict[str, object]]:
    quiet = _quiet_sums(tier, series_years)
    limits = {
        rate: (
            alarms.limit_for(quiet.slow, (1 - FAST_SHARE) * rate),
            alarms.limit_for(quiet.fast, FAST_SHARE * rate),
        )
        for rate in RATES
    }
    stepped = {ratio: _stepped(tier, place, ratio) for place, ratio in enumerate(_all_ratios(tier))}
    for rate, (slow, fast) in limits.items():
        found = {ratio: _recall(sums, slow, fast) for ratio, (sums, _) in stepped.items()}
        yield dict(
            zip(
                COLUMNS,
                (
                    tier.kind,
                    f"{tier.per_day:g}",
                    f"{rate:.4g}",
                    used_as(rate),
                    f"{slow:.3f}",
                    f"{fast:.3f}",
                    f"{_shift(found, stepped):.3f}",
                    *(f"{found[ratio]:.3f}" for ratio in tier.ratios),
                    series_years,
                    mark,
                ),
                strict=True,
            )
        )


def _quiet_sums(tier: _Tier, series_years: int) -> cusum.Sums:
    parts = []
    for part in range(0, series_years, _AT_ONCE):
        count = min(_AT_ONCE, series_years - part)
        parts.append(_warm(alarms.sums(tier.panel(part, count, _WARM_DAYS + 365))))
    return cusum.Sums(
        *(
            np.concatenate([getattr(each, name) for each in parts])
            for name in ("slow", "fast", "fall", "volume")
        )
    )


def _warm(sums: cusum.Sums) -> cusum.Sums:
    """Only the days with a whole baseline."""
    return cusum.Sums(
        *(part[:, _WARM_DAYS:] for part in (sums.slow, sums.fast, sums.fall, sums.volume))
    )


def _stepped(tier: _Tier, place: int, ratio: float) -> tuple[cusum.Sums, float]:
    """Sums of series that get worse by `ratio`, and what that is in spreads of a day."""
    first = _WARM_DAYS + 2 * method.WEEK
    panel = tier.panel(500_000 + place, _STEPPED, first + alarms.WITHIN_DAYS, ratio, first)
    sums = alarms.sums(panel, first)
    last = cusum.week_of(first)
    block = cusum.padded(panel, slice(None))
    learnt = baseline.fit(cusum.piece(block, last, last + method.BASELINE_DAYS))
    days = slice(first, first + alarms.WITHIN_DAYS)
    precision = baseline.score(
        learnt, cusum.piece(block, _WARM_DAYS, _WARM_DAYS + panel.days)
    ).precision[:, days]
    typical = np.median(precision[precision > 0])
    if not panel.is_rate:
        return sums, float(np.log(ratio) * np.sqrt(typical))
    scale = float(np.median(learnt.scale))
    usual = typical * scale**2
    return sums, float(2 * (np.sqrt(usual * ratio + 0.375) - np.sqrt(usual + 0.375)) / scale)


def _recall(sums: cusum.Sums, slow: float, fast: float) -> float:
    over = np.maximum(sums.slow / slow, sums.fast / fast)
    return alarms.recall(over, 1.0, _WARM_DAYS + 2 * method.WEEK)[0]


def _all_ratios(tier: _Tier) -> list[float]:
    more = (
        (1.05, 1.15, 1.4, 1.75, 2.0, 3.0) if tier.kind == "level" else (1.5, 4.0, 7.0, 20.0, 50.0)
    )
    return sorted({*tier.ratios, *more})


def _shift(found: dict[float, float], stepped: dict[float, tuple[cusum.Sums, float]]) -> float:
    """The change, in spreads of a day, that is found in four cases of five."""
    ratios = sorted(found)
    recalls: Floats = np.maximum.accumulate([found[ratio] for ratio in ratios])
    shifts = [stepped[ratio][1] for ratio in ratios]
    return float(np.interp(RECALL_AIM, recalls, shifts))


if __name__ == "__main__":
    sys.exit(main())
