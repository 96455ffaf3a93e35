"""The tables of the detector, hand-made, to add to a published file of `serving`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl

from queries import regression_tables
from tests.app.serving import HOSTILE, LAST_DAY

_KEY: Final[Mapping[str, str]] = {"team": "varchar", "metric": "varchar", "started_on": "date"}
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "regressions": {
        **_KEY,
        **dict.fromkeys(
            ("state", "severity", "held_back_by", "verdict", "phase", "stage", "failure_domain"),
            "varchar",
        ),
        **dict.fromkeys(
            ("observed", "expected", "change_ratio", "lost_gpu_seconds_per_day"), "double"
        ),
        "attempts_before": "bigint",
        "attempts_after": "bigint",
        "evidence_ratio": "double",
        "detected_on": "date",
        "ended_on": "date",
        "closed_on": "date",
        "closed_because": "varchar",
        "days_to_detect": "bigint",
        "sla_days": "bigint",
        "is_within_sla": "boolean",
        "was_open": "boolean",
        "before_from": "date",
        "after_to": "date",
        "sentence": "varchar",
    },
    "regression_gates": {
        **_KEY,
        "place": "bigint",
        "gate": "varchar",
        "value": "double",
        "limit_value": "double",
        "is_passed": "boolean",
    },
    "regression_symptoms": {
        **_KEY,
        "symptom_team": "varchar",
        "symptom_metric": "varchar",
        "symptom_started_on": "date",
        **dict.fromkeys(("observed", "expected", "change_ratio"), "double"),
    },
    "regression_points": {
        **_KEY,
        "series_team": "varchar",
        "day": "date",
        "attempts": "bigint",
        **dict.fromkeys(("observed", "expected", "low", "high"), "double"),
    },
    "regression_parts": {
        **_KEY,
        "part": "varchar",
        "attempts_before": "bigint",
        "attempts_after": "bigint",
        **dict.fromkeys(
            (
                "before_seconds",
                "after_seconds",
                "change_seconds",
                "gpu_seconds_change_per_day",
            ),
            "double",
        ),
    },
    "regression_classes": {
        **_KEY,
        "workload": "varchar",
        "size": "integer",
        "gpus_from": "bigint",
        "gpus_to": "bigint",
        **dict.fromkeys(
            (
                "before_share",
                "after_share",
                "before_value",
                "after_value",
                "speed_change",
                "mix_change",
            ),
            "double",
        ),
    },
    "regression_split": {
        **_KEY,
        **dict.fromkeys(
            ("before_mean", "after_mean", "mean_change", "speed_change", "mix_change"), "double"
        ),
    },
    "regression_causes": {
        **_KEY,
        "failure_domain": "varchar",
        "failure_category": "varchar",
        "interruptions_before": "bigint",
        "interruptions_after": "bigint",
        **dict.fromkeys(
            (
                "before_per_day",
                "after_per_day",
                "lost_gpu_seconds_before_per_day",
                "lost_gpu_seconds_after_per_day",
            ),
            "double",
        ),
    },
    "regression_changes": {
        **_KEY,
        "changed_at": "timestamp",
        "name": "varchar",
        "change_team": "varchar",
        "description": "varchar",
        "days_before": "bigint",
    },
    "regression_jobs": {
        **_KEY,
        "place": "bigint",
        "job_id": "varchar",
        "attempt": "bigint",
        "job_team": "varchar",
        "day": "date",
        "gpus": "bigint",
        **dict.fromkeys(
            ("seconds", "expected_seconds", "excess_seconds", "excess_gpu_seconds"), "double"
        ),
    },
    "regression_teams": {
        **_KEY,
        "series_team": "varchar",
        "share": "double",
        "change_ratio": "double",
    },
    "quiet_series": {
        "team": "varchar",
        "metric": "varchar",
        "held_back_by": "varchar",
        "evidence_ratio": "double",
        "baseline_days": "bigint",
        "baseline_observations": "double",
        "smallest_change_ratio": "double",
        "judged_from": "date",
    },
    "changes": {
        "changed_at": "timestamp",
        "day": "date",
        "name": "varchar",
        "team": "varchar",
        "description": "varchar",
    },
}
Rows = Mapping[str, Sequence[Mapping[str, Any]]]
SINCE: Final = LAST_DAY - timedelta(days=14)


def add(path: Path, rows: Rows) -> None:
    """Put these rows, and an empty table where there are none, into a published file."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("drop table regressions")
        for name, columns in SCHEMAS.items():
            told = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            connection.execute(f"create table {name} ({told})")
            if rows.get(name):
                frame = pl.DataFrame(list(rows[name]), infer_schema_length=None)
                connection.register("told", frame)
                connection.execute(f"insert into {name} by name from told")
                connection.unregister("told")


def fail(path: Path, reason: str) -> None:
    """Make a published file one whose detector failed."""
    with duckdb.connect() as connection:
        connection.execute(f"attach '{path}' as serving")
        connection.execute("use serving")
        regression_tables.say_unknown(connection, reason)


def found(
    team: str = "feed", metric: str = "trainer_init_seconds", since: date = SINCE, **columns: Any
) -> dict[str, Any]:
    """A row of `regressions`: open, a ticket, found within the agreed days."""
    return {
        "team": team,
        "metric": metric,
        "started_on": since,
        "state": "open",
        "severity": "ticket",
        "verdict": "slower",
        "phase": "trainer_init",
        "observed": 278.0,
        "expected": 150.0,
        "change_ratio": 0.853,
        "lost_gpu_seconds_per_day": 94 * 3600.0,
        "attempts_before": 316,
        "attempts_after": 294,
        "evidence_ratio": 1.75,
        "detected_on": since + timedelta(days=2),
        "days_to_detect": 2,
        "sla_days": 7,
        "is_within_sla": True,
        "was_open": True,
        "before_from": since - timedelta(days=28),
        "after_to": LAST_DAY,
        "sentence": f"Trainer init for {team}: 2 min 30 s -> 4 min 38 s.",
        **columns,
    }


def whole() -> Rows:
    """Two that are open, one of each other state, and all the evidence of the dearest."""
    key = {"team": "feed", "metric": "trainer_init_seconds", "started_on": SINCE}
    late = SINCE - timedelta(days=20)
    return {
        "regressions": [
            found(
                "ads",
                "checkpoint_save_seconds",
                late,
                severity="info",
                lost_gpu_seconds_per_day=3600.0,
                phase="checkpoint_save",
                days_to_detect=9,
                is_within_sla=False,
            ),
            found(),
            found(
                since=SINCE - timedelta(days=30),
                state="closed",
                closed_on=SINCE - timedelta(days=20),
                ended_on=SINCE - timedelta(days=24),
                closed_because="recovered",
            ),
            found(
                "search",
                "failures_network",
                late,
                state="incident",
                verdict="failures",
                failure_domain="network",
                phase=None,
                observed=12.4,
                expected=8.4,
                held_back_by="went_away",
                ended_on=late + timedelta(days=2),
            ),
            found(
                "ranking",
                "tts_seconds",
                late,
                state="held_back",
                verdict="mix",
                held_back_by="mix",
                severity="info",
                detected_on=None,
                days_to_detect=None,
                is_within_sla=None,
            ),
            found(
                "fleet",
                "preemption_ratio",
                late,
                state="closed",
                verdict="preemptions",
                severity="page",
                phase=None,
                observed=0.25,
                expected=0.051,
                closed_on=SINCE,
                closed_because="new_level",
            ),
        ],
        "regression_points": [
            key
            | {
                "series_team": team,
                "day": day,
                "attempts": 12,
                "observed": (280.0 if team == "feed" and day >= SINCE else 150.0) + place % 5,
                "expected": 150.0,
                "low": 130.0,
                "high": 175.0,
            }
            for team in ("feed", "ads", "search")
            for place, day in enumerate(
                LAST_DAY - timedelta(days=ago) for ago in range(59, -1, -1) if ago != 33
            )
        ],
        "regression_parts": [
            key
            | {"part": part, "before_seconds": before, "after_seconds": after}
            | {"change_seconds": after - before, "attempts_before": 9, "attempts_after": 9}
            for part, before, after in (
                ("trainer_init_seconds", 150.0, 278.0),
                ("trainer_init_device_init_seconds", 20.0, 39.0),
                ("tts_seconds", 300.0, 430.0),
                ("ttr_seconds", 4000.0, 5100.0),
                ("scheduling_seconds", 19.0, 18.0),
            )
        ],
        "regression_split": [
            key
            | {
                "before_mean": 163.0,
                "after_mean": 290.0,
                "mean_change": 127.0,
                "speed_change": 130.0,
                "mix_change": -3.0,
            }
        ],
        "regression_classes": [
            key
            | {"workload": "production", "size": 3, "gpus_from": 5, "gpus_to": 8}
            | {"before_share": 0.5, "after_share": 0.4, "before_value": 160.0}
            | {"after_value": 300.0, "speed_change": 130.0, "mix_change": -3.0}
        ],
        "regression_causes": [
            key
            | {"failure_domain": "scheduler", "failure_category": "preempted"}
            | {"interruptions_before": 14, "interruptions_after": 39}
            | {"before_per_day": 0.5, "after_per_day": 2.6}
            | {"lost_gpu_seconds_before_per_day": 3600.0, "lost_gpu_seconds_after_per_day": 7200.0}
        ],
        "regression_changes": [
            key
            | {"changed_at": datetime.combine(SINCE, datetime.min.time()), "name": "trainer 8.0"}
            | {"change_team": None, "description": "a new compiler", "days_before": 0}
        ],
        "regression_jobs": [
            key
            | {"place": 1, "job_id": "stubborn", "attempt": 2, "job_team": "feed"}
            | {"day": SINCE, "gpus": 8, "seconds": 480.0, "expected_seconds": 240.0}
            | {"excess_seconds": 240.0, "excess_gpu_seconds": 7200.0}
        ],
        "regression_gates": [
            key
            | {"place": place, "gate": gate, "value": value, "limit_value": limit}
            | {"is_passed": True}
            for place, (gate, value, limit) in enumerate(
                (("baseline_too_short", 84.0, 42.0), ("not_enough_evidence", 1.75, 1.0)), 1
            )
        ],
        "regression_symptoms": [
            key
            | {"symptom_team": "fleet", "symptom_metric": "ett_ratio"}
            | {"symptom_started_on": SINCE, "observed": 0.88, "expected": 0.9}
            | {"change_ratio": -0.02}
        ],
        "quiet_series": [
            {
                "team": "ads",
                "metric": "ttr_seconds",
                "held_back_by": "too_few_attempts",
                "evidence_ratio": None,
                "baseline_days": 60,
                "baseline_observations": 3.0,
                "smallest_change_ratio": None,
                "judged_from": None,
            },
            {
                "team": "feed",
                "metric": "ett_ratio",
                "held_back_by": "not_enough_evidence",
                "evidence_ratio": 0.53,
                "baseline_days": 60,
                "baseline_observations": 900.0,
                "smallest_change_ratio": -0.096,
                "judged_from": SINCE,
            },
        ],
        "changes": [
            {
                "changed_at": datetime.combine(SINCE, datetime.min.time()),
                "day": SINCE,
                "name": "trainer 8.0",
                "team": None,
                "description": "a new compiler",
            }
        ],
    }


def hostile() -> Rows:
    """Rows whose every name would run, fetch or break something if it were not text."""
    key = {"team": HOSTILE, "metric": f"failures_{HOSTILE}", "started_on": SINCE}
    return {
        "regressions": [
            found(
                HOSTILE,
                f"failures_{HOSTILE}",
                failure_domain=HOSTILE,
                verdict="failures",
                phase=None,
                sentence=f"Failures for {HOSTILE}: <script>alert(1)</script> $x$",
            )
        ],
        "regression_points": [
            key
            | {"series_team": HOSTILE, "day": SINCE, "attempts": 1}
            | {"observed": 1.0, "expected": 1.0, "low": 0.0, "high": 2.0}
        ],
        "regression_changes": [
            key
            | {"changed_at": datetime.combine(SINCE, datetime.min.time()), "name": HOSTILE}
            | {"change_team": HOSTILE, "description": HOSTILE, "days_before": 1}
        ],
        "changes": [
            {
                "changed_at": datetime.combine(SINCE, datetime.min.time()),
                "day": SINCE,
                "name": HOSTILE,
                "team": None,
                "description": HOSTILE,
            }
        ],
    }
