"""The detector the whole way: jobs as dumps, an ingest, and what the series of its warehouse show.

A step at job level in one start-up phase of one team; the other team stays as it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np

from bench import alarms
from bench.methods import FIRST_DAY, SEED, method_only
from bench.series_fleets import BEGINS, Floats, Step, World, day_effects, jobs
from bench.whole_fleets import AREAS
from ingest import cli
from queries import published, regression_tables
from queries.detection import series

_TEAMS = ("stepped", "steady")
_METRIC = "trainer_init_seconds"
_DAYS = FIRST_DAY + alarms.WITHIN_DAYS
_MIDNIGHT = datetime(BEGINS.year, BEGINS.month, BEGINS.day, tzinfo=UTC).timestamp()
_DAY = 86_400.0


def whole_way(fleets: int, per_day: float = 20.0, ratio: float = 1.2) -> None:
    """Print in how many of so many fleets the step is found."""
    delays: list[float] = []
    opened = 0
    for number in range(fleets):
        over, was_opened = _ingested(SEED + 40_000 + number, per_day, ratio)
        days = np.flatnonzero(np.nan_to_num(over[FIRST_DAY:]) > 1)
        delays += [int(days[0])] if len(days) else []
        opened += was_opened
    print(
        f"\nwhole way through dumps and ingest, {per_day:g}/day +{ratio - 1:.0%} in a phase of a "
        f"team, {fleets} fleets: method alone found {len(delays)} ({len(delays) / fleets:.2f}) "
        f"within 14 days, median delay {np.median(delays or [np.nan]):.0f}; opened {opened}",
        flush=True,
    )


def _ingested(seed: int, per_day: float, ratio: float) -> tuple[Floats, bool]:
    """The sums of the stepped series over their limits by day, and whether it was told of."""
    with TemporaryDirectory(prefix="ett-bench-") as folder:
        dump, warehouse = Path(folder) / "fleet.jsonl", Path(folder) / "warehouse"
        with dump.open("w", encoding="utf-8") as file:
            for event in _events(seed, per_day, ratio):
                file.write(json.dumps(event) + "\n")
        last_day = BEGINS + timedelta(days=_DAYS - 1)
        end = f"{BEGINS + timedelta(days=_DAYS)}T00:00:00Z"
        with redirect_stdout(io.StringIO()):
            status = cli.main(["--warehouse", str(warehouse), "--as-of", end, str(dump)])
        assert status == 0
        with duckdb.connect(str(published(warehouse)), read_only=True) as reader:
            was_opened = reader.execute(
                "select count(*) > 0 from regressions where was_open and team = ? "
                "and metric in (?, 'tts_seconds') and started_on >= ?",
                [_TEAMS[0], _METRIC, BEGINS + timedelta(days=FIRST_DAY - 14)],
            ).fetchall()[0][0]
        with duckdb.connect(str(warehouse / "warehouse.duckdb"), read_only=True) as reader:
            cells = regression_tables.cells(reader, last_day)
    panel = series.panels(cells, last_day).levels
    return method_only(panel)[panel.keys.index((_TEAMS[0], _METRIC))], bool(was_opened)


def _events(seed: int, per_day: float, ratio: float) -> Iterator[dict[str, object]]:
    rng, world = np.random.default_rng(seed), World()
    count = jobs(rng, len(_TEAMS), _DAYS, per_day, world)
    shifts = {area: day_effects(rng, len(_TEAMS), _DAYS, world) for area in AREAS}
    shifts["trainer_init"][0] += Step(FIRST_DAY, ratio).logs(_DAYS)
    for place, team in enumerate(_TEAMS):
        for day in range(_DAYS):
            for number in range(int(count[place, day])):
                size = int(rng.choice([8, 16, 32, 64, 128]))
                effect = 0.08 * np.log2(size)
                noise = rng.normal(effect, world.job_spread, len(AREAS))
                seconds = {
                    area: float(median * np.exp(shifts[area][place, day] + each))
                    for (area, median), each in zip(AREAS.items(), noise, strict=True)
                }
                begins = _MIDNIGHT + day * _DAY + float(rng.uniform(0, 0.75 * _DAY))
                trains = float(600 * rng.lognormal(0.0, 0.5))
                yield from _job(f"{team}-{day}-{number}", team, size, begins, seconds, trains)


def _job(
    name: str, team: str, gpus: int, begins: float, seconds: dict[str, float], trains: float
) -> Iterator[dict[str, object]]:
    base: dict[str, object] = {"job_id": name, "attempt": 1}
    yield base | {"ts": begins, "event": "job", "team": team, "gpus": gpus}
    at = begins
    for phase, took in [*seconds.items(), ("training", trains)]:
        yield base | {"ts": at, "end_ts": at + took, "event": "phase_start", "phase": phase}
        at += took
    yield base | {"ts": at, "event": "attempt_end", "outcome": "completed"}
