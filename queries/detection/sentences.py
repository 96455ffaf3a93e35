"""The sentence of every regression, from the tables that a publish has just made."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl

from queries.detection.metrics import Depth, metric
from queries.detection.sentence import Told, sentence

_REGRESSIONS = """
select
    found.*,
    split.speed_change,
    split.mix_change
from found_regressions as found
left join regression_split as split using (team, metric, started_on)
"""
_PARTS = """
select part, change_seconds
from regression_parts
where team = $1 and metric = $2 and started_on = $3 and change_seconds > 0
order by change_seconds desc, part
"""
_GROWN = """
select workload, gpus_from, gpus_to, before_share, after_share
from regression_classes
where team = $1 and metric = $2 and started_on = $3
order by after_share - before_share desc, workload, size
limit 1
"""
_CAUSES = """
select
    concat(failure_domain, '/', failure_category) as category,
    coalesce(before_per_day, 0) as before_per_day,
    after_per_day
from regression_causes
where
    team = $1
    and metric = $2
    and started_on = $3
    and (failure_category = 'preempted') = ($2 = 'preemption_ratio')
    and coalesce(failure_domain = $4, true)
    and after_per_day > coalesce(before_per_day, 0)
order by after_per_day - coalesce(before_per_day, 0) desc, category
limit 1
"""
_CHANGES = """
select name, description
from regression_changes
where team = $1 and metric = $2 and started_on = $3
order by changed_at, name
"""
_SYMPTOMS = """
select symptom_team, symptom_metric, change_ratio
from regression_symptoms
where team = $1 and metric = $2 and started_on = $3
order by symptom_team <> $1, symptom_started_on, symptom_team, symptom_metric
"""


def told(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Columns team, metric, started_on, sentence; reads `found_regressions` and its evidence."""
    rows = connection.sql(_REGRESSIONS).pl().to_dicts()
    return pl.DataFrame(
        [
            {name: row[name] for name in ("team", "metric", "started_on")}
            | {"sentence": sentence(_told(connection, row))}
            for row in rows
        ],
        {"team": pl.String, "metric": pl.String, "started_on": pl.Date, "sentence": pl.String},
    )


def _told(connection: duckdb.DuckDBPyConnection, row: dict[str, Any]) -> Told:
    key = [row["team"], row["metric"], row["started_on"]]

    def asked(select: str, *more: object) -> list[tuple[Any, ...]]:
        return connection.execute(select, [*key, *more]).fetchall()

    grown = asked(_GROWN)
    return Told(
        team=row["team"],
        metric=row["metric"],
        started_on=row["started_on"],
        verdict=row["verdict"],
        held_back_by=row["held_back_by"],
        observed=row["observed"],
        expected=row["expected"],
        change_ratio=row["change_ratio"],
        lost_gpu_seconds_per_day=row["lost_gpu_seconds_per_day"],
        attempts_before=row["attempts_before"],
        attempts_after=row["attempts_after"],
        detected_on=row["detected_on"],
        ended_on=row["ended_on"],
        days_to_detect=row["days_to_detect"],
        sla_days=row["sla_days"],
        parts=[part for part in asked(_PARTS) if _is_inside(part[0], row["metric"])],
        speed=row["speed_change"],
        mix=row["mix_change"],
        grown=_class(*grown[0]) if grown else None,
        causes=asked(_CAUSES, row["failure_domain"]),
        changes=asked(_CHANGES),
        symptoms=asked(_SYMPTOMS),
    )


def _is_inside(part: str, whole: str) -> bool:
    """Whether a timed part can be named as what carries the change of `whole`."""
    one, other = metric(part), metric(whole)
    if one.name == other.name or one.depth is not Depth.CAUSE:
        return False
    if other.depth is Depth.CAUSE:
        return one.phase == other.phase and one.stage is not None and other.stage is None
    return one.family is other.family and one.stage is None


def _class(
    workload: str, gpus_from: int | None, gpus_to: int | None, before: float, after: float
) -> tuple[str, float, float]:
    size = "unknown size" if gpus_to is None else f"{gpus_from}-{gpus_to} GPUs"
    return f"{workload} on {size}", before, after
