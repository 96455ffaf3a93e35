"""Holds the published views against the oracle, attempt by attempt and day by day, exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.oracle.measures import AttemptMeasures, Measures, TeamDayMeasures
from tests.queries.engine import rows, table

_EPOCH = datetime(1970, 1, 1)

_SECONDS_OF_ATTEMPT = {
    "wall_us": "wall_seconds",
    "queue_us": "queue_seconds",
    "tts_us": "tts_seconds",
    "ttr_us": "ttr_seconds",
    "ttr_without_queue_us": "ttr_without_queue_seconds",
    "lost_gpu_us": "lost_gpu_seconds",
}
_TIMES_OF_ATTEMPT = {
    "started_us": "started_at",
    "allocated_us": "allocated_at",
    "first_batch_us": "first_batch_at",
    "ended_us": "ended_at",
}
_SAME_OF_ATTEMPT = ("outcome", "checkpoint_saves", "gpus", "team", "allocation_id")
_SECONDS_OF_DAY = {
    "wall_us": "wall_seconds",
    "effective_us": "effective_seconds",
    "effective_gpu_us": "effective_gpu_seconds",
    "unsaved_us": "unsaved_seconds",
    "unsaved_gpu_us": "unsaved_gpu_seconds",
    "checkpoint_save_us": "checkpoint_save_seconds",
    "queue_us": "queue_seconds",
    "tts_p50_us": "tts_p50_seconds",
    "tts_p90_us": "tts_p90_seconds",
    "ttr_p50_us": "ttr_p50_seconds",
    "ttr_p90_us": "ttr_p90_seconds",
    "checkpoint_save_p50_us": "checkpoint_save_p50_seconds",
    "checkpoint_save_p90_us": "checkpoint_save_p90_seconds",
    "checkpoint_save_p99_us": "checkpoint_save_p99_seconds",
}
_SAME_OF_DAY = (
    "attempts_ended",
    "preempted",
    "failures",
    "interruptions",
    "completed",
    "checkpoint_saves",
)
_RATIOS_OF_DAY = ("preemption_ratio", "preempted_job_ratio")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Where the two differ: on what, and what each says."""

    where: object
    what: str
    oracle: object
    engine: object


def disagreements(warehouse: Path, measures: Measures) -> list[Disagreement]:
    """Every difference between what is published and what the oracle measured."""
    return [*_of_attempts(warehouse, measures), *_of_days(warehouse, measures)]


def _of_attempts(warehouse: Path, measures: Measures) -> Iterator[Disagreement]:
    engine = {(row["job_id"], row["attempt"]): row for row in table(warehouse, "from attempts")}
    areas = _areas(warehouse)
    for key in measures.attempts.keys() ^ engine.keys():
        yield Disagreement(key, "exists", key in measures.attempts, key in engine)
    for key in measures.attempts.keys() & engine.keys():
        told = measures.attempts[key]
        row = engine[key]
        pairs = [(name, getattr(told, name), row[name]) for name in _SAME_OF_ATTEMPT]
        pairs += _compared_times(told, row)
        pairs += [
            (name, getattr(told, name), _us(row[column]))
            for name, column in _SECONDS_OF_ATTEMPT.items()
        ]
        pairs.append(("failure_category", told.failure_category, _category(row)))
        pairs.append(("areas", told.areas, areas[key]))
        pairs.append(("identity", told.wall_us, sum(areas[key].values())))
        yield from _differing(key, pairs)


def _of_days(warehouse: Path, measures: Measures) -> Iterator[Disagreement]:
    engine = {
        (row["team"], row["day"]): row
        for row in table(warehouse, "from team_day where workload = 'all'")
    }
    for key, told in measures.team_days.items():
        if key not in engine:
            yield Disagreement(key, "exists", True, False)
            continue
        yield from _differing(key, _compared_day(told, engine[key]))
    for gap in rows(warehouse, "select day, gap_us from identity_by_day where gap_us <> 0"):
        yield Disagreement(gap[0], "identity of the day", 0, gap[1])


def _compared_day(told: TeamDayMeasures, row: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in _SAME_OF_DAY:
        yield name, getattr(told, name), row[name]
    for name, column in _SECONDS_OF_DAY.items():
        # the oracle's fleets are instrumented, so nothing effective is zero, not unknown
        yield name, getattr(told, name) or None, _us(row[column]) or None
    yield "gpu_us", told.gpu_us, _us(row["gpu_seconds"])
    for name in _RATIOS_OF_DAY:
        ratio = getattr(told, name)
        yield name, _rounded(ratio), _rounded(row[name])


def _compared_times(
    told: AttemptMeasures, row: dict[str, Any]
) -> Iterable[tuple[str, int | None, int | None]]:
    return [
        (name, getattr(told, name), _instant(row[column]))
        for name, column in _TIMES_OF_ATTEMPT.items()
    ]


def _differing(where: object, pairs: Iterable[tuple[str, Any, Any]]) -> Iterator[Disagreement]:
    for name, oracle, engine in pairs:
        if oracle != engine:
            yield Disagreement(where, name, oracle, engine)


def _areas(warehouse: Path) -> dict[tuple[str, int], dict[tuple[str, bool], int]]:
    found: dict[tuple[str, int], dict[tuple[str, bool], int]] = defaultdict(dict)
    for job_id, attempt, area, is_recovery, seconds in rows(
        warehouse, "select job_id, attempt, area, is_recovery, seconds from area_by_attempt"
    ):
        found[job_id, attempt][area, is_recovery] = round(seconds * 1e6)
    return found


def _category(row: dict[str, Any]) -> str | None:
    if row["failure_domain"] is None:
        return None
    return f"{row['failure_domain']}/{row['failure_category']}"


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)


def _instant(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // timedelta(microseconds=1)


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 9)
