"""The sentence of every regression, from the tables that a publish has just made."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import Any

import duckdb
import polars as pl

from queries import frames
from queries.detection.metrics import Depth, metric
from queries.detection.sentence import Told, sentence

_REGRESSIONS = """
select
    found.*,
    split.speed_change,
    split.mix_change
from found_regressions as found
left join (
    select *
    from regression_split
    semi join (
        from regression_classes
        where before_value is not null and after_value is not null
    ) using (team, metric, started_on)
) as split using (team, metric, started_on)
"""
# each begins with the key of a regression, and is asked once for all of them
# `added_seconds`: what a part adds to the mean of the whole, by how many of its attempts told it
_PARTS = """
select
    parts.team,
    parts.metric,
    parts.started_on,
    parts.part,
    parts.change_seconds,
    parts.attempts_after,
    parts.attempts_after < whole.attempts_after as is_of_some,
    parts.after_seconds * parts.attempts_after / whole.attempts_after
    - parts.before_seconds * parts.attempts_before / whole.attempts_before as added_seconds
from regression_parts as parts
left join regression_parts as whole
    on
        parts.team = whole.team
        and parts.metric = whole.metric
        and parts.started_on = whole.started_on
        and whole.part = parts.metric
where parts.change_seconds > 0
order by parts.change_seconds desc, parts.part
"""
_GROWN = """
select team, metric, started_on, workload, gpus_from, gpus_to, before_share, after_share
from regression_classes
qualify
    row_number() over (
        partition by team, metric, started_on
        order by after_share - before_share desc, workload, size
    ) = 1
"""
# of unsaved time by what the ends cost, since one end may discard more than all others; else by
# how many there are
_CAUSES = """
with told as (
    select
        causes.team,
        causes.metric,
        causes.started_on,
        concat(causes.failure_domain, '/', causes.failure_category) as category,
        coalesce(
            if(
                causes.metric = 'unsaved_ratio',
                causes.lost_gpu_seconds_before_per_day,
                causes.before_per_day
            ),
            0
        ) as before_per_day,
        if(
            causes.metric = 'unsaved_ratio',
            causes.lost_gpu_seconds_after_per_day,
            causes.after_per_day
        ) as after_per_day
    from regression_causes as causes
    inner join found_regressions as found using (team, metric, started_on)
    where
        causes.metric = 'unsaved_ratio'
        or (
            (causes.failure_category = 'preempted') = (causes.metric = 'preemption_ratio')
            and coalesce(causes.failure_domain = found.failure_domain, true)
        )
)
from told
where after_per_day > before_per_day
qualify
    row_number() over (
        partition by team, metric, started_on
        order by after_per_day - before_per_day desc, category
    ) = 1
"""
_CHANGES = """
select team, metric, started_on, name, description
from regression_changes
order by changed_at, name
"""
_SYMPTOMS = """
select team, metric, started_on, symptom_team, symptom_metric, change_ratio
from regression_symptoms
order by
    symptom_team <> team,
    abs(change_ratio) desc nulls last,
    symptom_started_on,
    symptom_team,
    symptom_metric
"""
_LAST = """
select
    points.team,
    points.metric,
    points.started_on,
    max(points.day) as last_day
from regression_points as points
inner join found_regressions as found using (team, metric, started_on)
where points.series_team = points.team and found.ended_on is null
group by points.team, points.metric, points.started_on, found.after_to
having date_diff('day', max(points.day), found.after_to) >= 7
"""

_Key = tuple[str, str, date]
_Answers = dict[_Key, list[tuple[Any, ...]]]


def told(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Columns team, metric, started_on, sentence; reads `found_regressions` and its evidence."""
    rows = frames.told(connection, _REGRESSIONS).to_dicts()
    selects = (_PARTS, _GROWN, _CAUSES, _CHANGES, _SYMPTOMS, _LAST) if rows else ()
    answers = [_by_regression(connection, select) for select in selects]
    return pl.DataFrame(
        [
            {name: row[name] for name in ("team", "metric", "started_on")}
            | {"sentence": sentence(_told(row, *answers))}
            for row in rows
        ],
        {"team": pl.String, "metric": pl.String, "started_on": pl.Date, "sentence": pl.String},
    )


def _by_regression(connection: duckdb.DuckDBPyConnection, select: str) -> _Answers:
    found: _Answers = defaultdict(list)
    for team, metric_name, started_on, *answer in connection.execute(select).fetchall():
        found[team, metric_name, started_on].append(tuple(answer))
    return found


def _told(
    row: dict[str, Any],
    parts: _Answers,
    grown: _Answers,
    causes: _Answers,
    changes: _Answers,
    symptoms: _Answers,
    last: _Answers,
) -> Told:
    key = row["team"], row["metric"], row["started_on"]
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
        is_gpu_weighed=row["is_gpu_weighed"],
        attempts_before=row["attempts_before"],
        attempts_after=row["attempts_after"],
        detected_on=row["detected_on"],
        ended_on=row["ended_on"],
        days_to_detect=row["days_to_detect"],
        sla_days=row["sla_days"],
        parts=_carriers(parts[key], row["metric"]),
        speed=row["speed_change"],
        mix=row["mix_change"],
        grown=_class(*grown[key][0]) if grown[key] else None,
        causes=causes[key],
        changes=changes[key],
        symptoms=symptoms[key],
        silent_since=last[key][0][0] if last[key] else None,
    )


def _carriers(parts: list[tuple[Any, ...]], whole: str) -> list[tuple[str, float, int | None]]:
    """The parts that can be named as what carries the change of `whole`, the largest first. Of a
    stage that fewer attempts have than before, each may take longer and all of them less: it
    carries nothing.
    """
    inside = [part for part in parts if _is_inside(part[0], whole)]
    if metric(whole).depth is not Depth.CAUSE:
        return [(name, change, None) for name, change, *_ in inside]
    return [
        (name, change, attempts if is_of_some else None)
        for name, change, attempts, is_of_some, added in inside
        if added is None or added > 0
    ]


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
    if gpus_to is None:
        size = "unknown size"
    elif gpus_from == gpus_to:
        size = "1 GPU" if gpus_to == 1 else f"{gpus_to} GPUs"
    else:
        size = f"{gpus_from}-{gpus_to} GPUs"
    return f"{workload} on {size}", before, after
